import assert from 'node:assert/strict'
import { createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { type RestoreOptions, restoreArchive } from '../../packages/archive/src/restore-archive.ts'
import type { Folder } from '../../packages/archive/src/tar/read-folder.ts'
import { type Finding, verifyArchive } from '../../packages/archive/src/verify-archive.ts'
import { createGit } from '../../packages/git/src/git.ts'
import type { Bytes } from '../../packages/lib/src/bytes.ts'
import { runTool } from './archive-tools.ts'
import { commandLine } from './command-line.ts'
import { gitHost } from './git-host.ts'
import { REAL_ARCHIVE } from './real-archive.ts'
import { git as plainGit, temporaryDirectory } from './sample-repositories.ts'
import { TIMEOUT_MS } from './wait-until.ts'

/** An archive of Godwit and one of github.com, for tests that pack them again, verify and restore them. */
export interface RestoreScene {
  base: string
  /** The directory of an unpacked archive of Godwit. */
  ours: string
  oursPacked: string
  /** The directory of the unpacked archive of github.com; empty if that is missing. */
  real: string
  verified(open: () => Bytes | Folder, file?: string): Promise<Finding[]>
  restored(open: () => Bytes | Folder): Promise<{ into: string; notes: string[] }>
}

export async function restoreScene(t: Pick<TestContext, 'after'>): Promise<RestoreScene> {
  const base = temporaryDirectory(t)
  const home = join(base, 'home')
  const git = createGit({ program: 'git', searchPath: process.env.PATH ?? '', home })
  await using host = await gitHost()
  await host.repository('alice/site', {
    files: { 'index.html': '<h1>Alice</h1>' },
    wiki: { 'Home.md': '# Home\n' },
    config: { 'godwit.collaborator': 'bob:admin' },
  })
  await host.repository('alice/notes', { files: { b: 'b' } })
  const { godwit } = await commandLine(t)
  const oursPacked = join(base, 'ours.tar.gz')
  const command = ['export', 'alice', '--repositories', host.root, '--output', oursPacked]
  const { code, output } = await godwit(command)
  assert.equal(code, 0, output)
  const ours = await unpacked(oursPacked, 'ours')
  const real = REAL_ARCHIVE.needed.skip ? '' : await unpacked(REAL_ARCHIVE.file, 'real')

  async function unpacked(archive: string, name: string): Promise<string> {
    const folder = join(base, name)
    await mkdir(folder)
    await runTool('GNU tar', ['-xzf', archive, '--no-same-owner', '-C', folder])
    return folder
  }

  return {
    ...{ base, ours, oursPacked, real },
    async verified(open, file) {
      const directory = mkdtempSync(join(base, 'verify-'))
      const dependencies = { git, directory, file }
      const findings = await Array.fromAsync(verifyArchive(dependencies, open(), signal()))
      rmSync(directory, { recursive: true })
      return findings
    },
    async restored(open) {
      const into = mkdtempSync(join(base, 'restore-'))
      const notes: string[] = []
      const dependencies: RestoreOptions = { git, open, into, onNote: (line) => notes.push(line) }
      for await (const { fullName, errors } of restoreArchive(dependencies, signal()))
        assert.deepEqual(errors, [], fullName)
      return { into, notes }
    },
  }
}

const signal = () => AbortSignal.timeout(TIMEOUT_MS)

export const fileOf = (file: string) => () => createReadStream(file)

const textsOf = (level: string) => (findings: Finding[]) =>
  findings.flatMap((each) => ('text' in each && each.level === level ? [each.text] : []))
export const errorsIn = textsOf('error')
export const warningsIn = textsOf('warning')
export const notesIn = textsOf('note')
export const verifiedIn = textsOf('verified')

export const refsOf = (repository: string) =>
  plainGit(repository, ['for-each-ref', '--format=%(objectname) %(refname)']).trim().split('\n')

/** Reads the refs of a restored repository, which are all packed, without git. */
export function packedRefsOf(repository: string): string[] {
  const loose = readdirSync(join(repository, 'refs'), { recursive: true, withFileTypes: true })
  assert.deepEqual(
    loose.filter((each) => !each.isDirectory()),
    [],
  )
  const lines = readFileSync(join(repository, 'packed-refs'), 'utf8').split('\n')
  return lines.filter((line) => /^[0-9a-f]{40} /.test(line))
}
