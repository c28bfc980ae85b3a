import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { access, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { git } from './git-repositories.ts'

const run = promisify(execFile)

/** Unpacks an archive with plain `tar` and has plain `git` check every repository that must be in it. */
export async function checkArchive(file: string, repositories: string[]): Promise<void> {
  const unpacked = join(dirname(file), 'unpacked')
  await mkdir(unpacked)
  await run('tar', ['-xzf', file, '-C', unpacked])
  await access(join(unpacked, 'schema.json'))
  for (const fullName of repositories) {
    const dir = join(unpacked, 'repositories', `${fullName}.git`)
    await git('-C', dir, 'fsck', '--full', '--no-progress')
    assert.notEqual(await git('-C', dir, 'for-each-ref'), '', `${fullName} has no refs`)
  }
}
