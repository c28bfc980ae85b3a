import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import licenses from 'spdx-license-list/full.js'
import type { Git } from '../../packages/git/src/git.ts'
import { Unreadable } from '../../packages/git/src/unreadable.ts'
import { gitDirectory } from '../../packages/hosts/src/directory/git-directory.ts'
import type { PreviousMetadata, SourceMetadata } from '../../packages/hosts/src/source.ts'
import { gitHost } from './git-host.ts'

export const MIT = licenses.MIT!.licenseText.replace('<year> <copyright holders>', '2024 Ada')

/** A host, and functions that read metadata of its repositories by their directories. */
export async function metadataScene() {
  const host = await gitHost()
  let count = 0

  async function metadataOf(
    dir: string,
    previous?: PreviousMetadata,
    git?: Git,
  ): Promise<SourceMetadata> {
    const source = gitDirectory({ root: host.root, git: git ?? host.godwitGit })
    const [owner = '', name = ''] = dir.slice(host.root.length + 1, -'.git'.length).split('/')
    const found = await source.find(owner, name)
    assert.ok(found, `${owner}/${name} is not found`)
    return source.metadata(found, previous)
  }

  /** Asserts that the repository is unreadable, for a reason that matches and has no path of this machine. */
  async function assertUnreadable(
    dir: string,
    because: RegExp,
    previous?: PreviousMetadata,
  ): Promise<void> {
    await assert.rejects(metadataOf(dir, previous), (error) => {
      assert.ok(error instanceof Unreadable, String(error))
      assert.match(error.message, because)
      assert.ok(!error.message.includes(tmpdir()), error.message)
      return true
    })
  }

  return { host, metadataOf, assertUnreadable, nextName: () => `alice/r${count++}` }
}
