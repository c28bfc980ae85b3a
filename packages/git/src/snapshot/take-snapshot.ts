import { linkSync, rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ChangedDuringRead, NeedsGit } from '../files/repository-errors.ts'
import { syncFs } from '../files/sync-fs.ts'
import { type Git, withProgress } from '../git.ts'
import type { Examination, ExaminedRepository, Snapshot, SnapshotEntry } from '../snapshot.ts'
import { changedTooOften, type ExamineDependencies, examine } from './examine.ts'
import {
  copyToMemory,
  type Link,
  makeScratchRepository,
  type ScratchRepository,
  type SnapshotFile,
} from './scratch-repository.ts'
import { reportOfSnapshot } from './snapshot-warning.ts'
import { checkedBytes, verify } from './verify-snapshot.ts'

/** A snapshot with the details that only this package uses. */
interface TakenSnapshot extends Snapshot {
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

const MAX_ATTEMPTS = 20
/** Retries if the process has no free file handles. */
const removeFolder = syncFs((path: string) =>
  rmSync(path, { recursive: true, force: true, maxRetries: 8, retryDelay: 250 }),
)
const hardLink = syncFs(linkSync)

/** Links, reflinks or copies the examined files into `scratchDir`; examines again if a file has disappeared. */
export async function takeSnapshot(
  examination: Examination,
  scratchDir: string,
  dependencies: ExamineDependencies & { link?: Link },
): Promise<TakenSnapshot> {
  const dir = await mkdtemp(join(scratchDir, 'snapshot-'))
  const remove = () => removeFolder(dir)
  try {
    return {
      ...(await takeUntilComplete(examination, dir, { link: hardLink, ...dependencies })),
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Takes a snapshot in memory if the repository is small and ordinary, otherwise on disk. */
export async function takeSmallSnapshot(
  examination: Examination,
  scratchDir: string,
  dependencies: ExamineDependencies,
): Promise<Snapshot> {
  const repository = await copyToMemory(examination.repository, dependencies.signal)
  const wiki =
    examination.wiki && repository && (await copyToMemory(examination.wiki, dependencies.signal))
  if (!repository || wiki === undefined) return takeSnapshot(examination, scratchDir, dependencies)
  const copies = { examination, repository, wiki }
  const objectFiles = ({ files }: ScratchRepository) => files.filter((file) => 'from' in file)
  const files = [repository, wiki].flatMap((copy) => (copy ? objectFiles(copy) : []))
  const link: Link = (from, to) => writeFile(to, files.find((file) => file.from === from)!.bytes!)
  const report = () =>
    reportOfSnapshot(copies, { ...dependencies, git: NO_GIT }).catch(async (error: unknown) => {
      if (!(error instanceof NeedsGit)) throw error
      const copied = {
        ...examination,
        repository: { ...examination.repository, objectFiles: objectFiles(repository) },
        wiki: examination.wiki && { ...examination.wiki, objectFiles: objectFiles(wiki!) },
      }
      const onDisk = await takeSnapshot(copied, scratchDir, { ...dependencies, link })
      await using _ = { [Symbol.asyncDispose]: onDisk.remove }
      // Awaited here, because the copy is removed when this function returns.
      return await reportOfSnapshot(
        {
          examination,
          repository: { ...repository, dir: onDisk.repository.dir },
          wiki: wiki && { ...wiki, dir: onDisk.wiki!.dir },
        },
        dependencies,
      )
    })
  return { ...snapshotOf(copies, dependencies), report, remove: async () => {} }
}

const needGit = () => {
  throw new NeedsGit('the snapshot is in memory')
}
const NO_GIT: Git = { run: needGit, text: needGit, start: needGit }

async function takeUntilComplete(
  first: Examination,
  dir: string,
  dependencies: ExamineDependencies & { link: Link },
): Promise<Omit<TakenSnapshot, 'remove'>> {
  let examination = first
  for (let attempt = 1; ; attempt++) {
    const attemptDir = join(dir, String(attempt))
    try {
      const make = (found: ExaminedRepository, name: string) =>
        makeScratchRepository(found, join(attemptDir, name), dependencies)
      const repository = await make(examination.repository, 'repository.git')
      const wiki = examination.wiki && (await make(examination.wiki, 'wiki.git'))
      return snapshotOf({ examination, repository, wiki }, dependencies)
    } catch (error) {
      if (!(error instanceof ChangedDuringRead)) throw error
      if (attempt === MAX_ATTEMPTS) throw changedTooOften(first.location.fullName, error)
      await removeFolder(attemptDir)
      examination = await examine(first.location, dependencies)
    }
  }
}

type Copies = Pick<TakenSnapshot, 'examination' | 'repository' | 'wiki'>

function snapshotOf(
  copies: Copies,
  dependencies: ExamineDependencies,
): Omit<TakenSnapshot, 'remove'> {
  const { examination, repository, wiki } = copies
  const total = countObjects(repository) + (wiki ? countObjects(wiki) : 0)
  const gitFor = (onRead?: (part: number) => void) =>
    withProgress(dependencies.git, (objects) => onRead?.(objects / total))
  const borrows = examination.repository.hasExternalObjects || examination.wiki?.hasExternalObjects
  const copiedObjects = [repository, wiki].flatMap((copy) => copy?.files.filter(isObjectFile) ?? [])
  return {
    ...copies,
    // Borrowed objects do not count.
    bytes: borrows ? examination.bytes : copiedObjects.reduce((sum, { size }) => sum + size, 0),
    entries: () => entriesOf(examination.location.fullName, repository, wiki),
    verify: (last, signal, onRead) => verify(copies, gitFor(onRead), signal, last),
    report: (onRead) => reportOfSnapshot(copies, { ...dependencies, git: gitFor(onRead) }),
  }
}

const isObjectFile = ({ kind }: SnapshotFile) => kind !== 'text'

/** Estimates the number of objects. An index has 28 bytes for each, with SHA-1. */
const countObjects = ({ files }: ScratchRepository) =>
  files.reduce((sum, { kind, size }) => sum + (kind === 'idx' ? size / 28 : 1), 0)

/** A constant, so that the same content gives the same archive. Not the epoch, which some tools take for an unset clock. */
const MODIFIED_AT = Date.UTC(2001, 0, 1)
const DIRECTORY = { kind: 'directory', size: 0, packed: false, open: () => [] } as const

function* entriesOf(
  fullName: string,
  repository: ScratchRepository,
  wiki: ScratchRepository | null,
): Generator<SnapshotEntry> {
  const repositories = [{ root: `repositories/${fullName}.git`, repository }]
  if (wiki) repositories.push({ root: `repositories/${fullName}.wiki.git`, repository: wiki })
  for (const { root, repository } of repositories)
    for (const path of [root, ...repository.directories.map((directory) => `${root}/${directory}`)])
      yield { ...DIRECTORY, path, modifiedAt: MODIFIED_AT }
  for (const { root, repository } of repositories)
    for (const file of repository.files)
      yield {
        path: `${root}/${file.path}`,
        kind: 'file',
        size: file.size,
        modifiedAt: MODIFIED_AT,
        packed: file.kind !== 'text',
        open: () => checkedBytes(repository, file),
      }
}
