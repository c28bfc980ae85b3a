import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { Damaged } from '../../packages/git/src/files/repository-errors.ts'
import { createGit, type Git } from '../../packages/git/src/git.ts'
import { examine } from '../../packages/git/src/snapshot/examine.ts'
import type { SharedLfs } from '../../packages/git/src/snapshot/lfs-objects.ts'
import { copyToMemory } from '../../packages/git/src/snapshot/scratch-repository.ts'
import { takeSnapshot } from '../../packages/git/src/snapshot/take-snapshot.ts'
import { verify } from '../../packages/git/src/snapshot/verify-snapshot.ts'
import type { RepositoryLocation, Snapshot, Verified } from '../../packages/git/src/snapshot.ts'
import { commit, initBare, packedHistory, temporaryDirectory } from './sample-repositories.ts'

export const { signal } = new AbortController()

/** A path for the repository Ada/Engine, which does not exist yet, and the actions of the snapshot tests. */
export function snapshotScene(t: TestContext) {
  const root = temporaryDirectory(t)
  const searchPath = process.env.PATH ?? ''
  const git = createGit({ program: 'git', searchPath, home: join(root, 'home') })
  const dir = join(root, 'source/Ada/Engine.git')

  const examineRepository = ({ sharedLfs, ...change }: ExamineOptions = {}) =>
    examine({ dir, fullName: 'Ada/Engine', ...change }, { git, sharedLfs, signal })

  const take = async (change: ExamineOptions = {}) =>
    takeSnapshot(await examineRepository(change), root, {
      git,
      sharedLfs: change.sharedLfs,
      signal,
    })

  /** Takes a snapshot, verifies it and writes it out; returns the directory of Ada's repositories. */
  async function writeOut(change?: ExamineOptions, to = join(root, 'out')) {
    const snapshot = await take(change)
    await verify(snapshot, git, signal)
    await writeEntries(snapshot, to)
    await snapshot.remove()
    return join(to, 'repositories/Ada')
  }

  /** Returns the results of both halves of the verification: of git, and of reading all bytes, of which small loose objects come first. */
  async function check({ last, runner = git, ...change }: CheckOptions = {}) {
    const snapshot = await take(change).catch(damageMessage)
    if (typeof snapshot === 'string') return { verified: undefined, bytes: snapshot }
    try {
      const verified = await verify(snapshot, runner, signal, last).catch(damageMessage)
      // What is accepted in memory must be accepted by git.
      const { repository, wiki } = snapshot.examination
      const isAccepted =
        (await copyToMemory(repository, signal)) &&
        (wiki === null || (await copyToMemory(wiki, signal)))
      if (isAccepted) assert.equal(typeof verified, 'object', String(verified))
      return { verified, bytes: await readAll(snapshot).catch(damageMessage) }
    } finally {
      await snapshot.remove()
    }
  }

  function damageMessage(error: unknown): string {
    assert.ok(error instanceof Damaged, String(error))
    assert.ok(!error.message.includes(root), error.message)
    return error.message
  }

  const leftovers = () => readdirSync(root).filter((name) => name.startsWith('snapshot-'))

  return { root, git, dir, examineRepository: examineRepository, take, writeOut, check, leftovers }
}

/** A repository with a pack of some history and one commit in loose objects. */
export function packedAndLooseScene(t: TestContext) {
  const here = snapshotScene(t)
  initBare(here.dir)
  packedHistory(here.dir, 'refs/heads/main', 40)
  commit(here.dir, 'refs/heads/main', 'loose')
  return here
}

export interface ExamineOptions extends Partial<RepositoryLocation> {
  sharedLfs?: SharedLfs
}

interface CheckOptions extends ExamineOptions {
  last?: Verified
  runner?: Git
}

/** Writes the entries as an importer does: in their order, and only into directories among them. */
export async function writeEntries(snapshot: Snapshot, to: string): Promise<void> {
  await mkdir(join(to, 'repositories/Ada'), { recursive: true })
  for await (const entry of snapshot.entries()) {
    const path = join(to, entry.path)
    if (entry.kind === 'directory') {
      await mkdir(path)
      continue
    }
    await writeFile(path, entry.open(), { flag: 'wx' })
    assert.equal(statSync(path).size, entry.size, entry.path)
  }
}

async function readAll(snapshot: Snapshot): Promise<undefined> {
  for await (const entry of snapshot.entries()) for await (const _ of entry.open());
}
