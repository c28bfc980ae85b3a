import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { listPeople } from '../../packages/archive/src/list-people.ts'
import { restoreArchive } from '../../packages/archive/src/restore-archive.ts'
import { summarizeArchive } from '../../packages/archive/src/summarize-archive.ts'
import { verifyArchive } from '../../packages/archive/src/verify-archive.ts'
import { createGit } from '../../packages/git/src/git.ts'
import { type DumpDependencies, dumpForGitea } from './dump-for-gitea.ts'

export interface ManyRecordsOrder {
  /** An unpacked archive with `count` records of a kind. */
  folder: string
  count: number
  /** An empty directory. */
  base: string
}

const { folder, count, base } = workerData as ManyRecordsOrder
const { signal } = new AbortController()
const git = createGit({
  program: 'git',
  searchPath: process.env.PATH ?? '',
  home: join(base, 'home'),
})
const archive = () => ({ folder })

async function restore() {
  const notes: string[] = []
  const onNote = (line: string) => void notes.push(line)
  const dependencies = { git, open: archive, into: join(base, 'bare'), onNote }
  return { restored: await Array.fromAsync(restoreArchive(dependencies, signal)), notes }
}

async function dump() {
  const warnings: string[] = []
  const dependencies: DumpDependencies = {
    git,
    open: archive,
    into: join(base, 'dumps'),
    onEvent: (each) => 'warning' in each && warnings.push(each.warning),
    ...{ repositories: [], people: new Map(), keepLinks: true, forge: '' },
  }
  return { dumped: await Array.fromAsync(dumpForGitea(dependencies, signal)), warnings }
}

/** What this worker does with the archive, by name. A message with the name is answered with the result or the error. */
const ACTIONS = {
  async verify() {
    const directory = join(base, 'verify')
    await mkdir(directory)
    return Array.fromAsync(verifyArchive({ git, directory }, archive(), signal))
  },
  restore,
  dump,
  summarize: async () => (await summarizeArchive(archive(), signal)).summary,
  listPeople: async () => (await listPeople(archive(), signal))?.warnings,
}

export type ManyRecordsActions = typeof ACTIONS

parentPort!.on('message', async (name: keyof ManyRecordsActions) => {
  try {
    const spread = () => Math.max(...new Array<number>(count))
    assert.throws(spread, RangeError, 'a call can have so many arguments')
    parentPort!.postMessage({ result: await ACTIONS[name]() })
  } catch (error) {
    parentPort!.postMessage({ error })
  }
})
