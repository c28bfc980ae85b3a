import { link as hardLink, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import type { Examination, ExaminedRepository, Snapshot, SnapshotEntry } from '../../snapshot.ts'
import { ChangedDuringRead, NeedsGit } from '../files/repository-errors.ts'
import { type ExamineParts, examine, keepsChanging } from './examine.ts'
import {
  copyToMemory,
  type Link,
  makeScratchRepository,
  type ScratchRepository,
} from './scratch-repository.ts'
import { reportOfSnapshot } from './snapshot-warning.ts'
import { checkedBytes, verify } from './verify-snapshot.ts'

/** A snapshot with the details that only `sources/directory` uses. */
export interface TakenSnapshot extends Snapshot {
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

const MAX_ATTEMPTS = 20
/** Retries if the process has no free file handles. */
const REMOVAL = { recursive: true, force: true, maxRetries: 8, retryDelay: 250 }

/** Links, reflinks or copies the examined files into `scratchDir`; examines again if a file has disappeared. */
export async function takeSnapshot(
  examination: Examination,
  scratchDir: string,
  parts: ExamineParts & { link?: Link },
): Promise<TakenSnapshot> {
  const dir = await mkdtemp(join(scratchDir, 'snapshot-'))
  const remove = () => rm(dir, REMOVAL)
  try {
    return { ...(await takeUntilComplete(examination, dir, { link: hardLink, ...parts })), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** Takes a snapshot in memory if the repository is small and ordinary, otherwise on disk. */
export async function takeSmallSnapshot(
  examination: Examination,
  scratchDir: string,
  parts: ExamineParts,
): Promise<Snapshot> {
  const repository = await copyToMemory(examination.repository)
  const wiki = examination.wiki && repository && (await copyToMemory(examination.wiki))
  if (!repository || wiki === undefined) return takeSnapshot(examination, scratchDir, parts)
  const copies = { examination, repository, wiki }
  const files = [...repository.files, ...(wiki?.files ?? [])]
  const link: Link = (from, to) =>
    writeFile(to, files.find((file) => 'from' in file && file.from === from)!.bytes!)
  const report = () =>
    reportOfSnapshot(copies, { ...parts, git: NO_GIT }).catch(async (error: unknown) => {
      if (!(error instanceof NeedsGit)) throw error
      const onDisk = await takeSnapshot(examination, scratchDir, { ...parts, link })
      await using _ = { [Symbol.asyncDispose]: onDisk.remove }
      return reportOfSnapshot(
        {
          examination,
          repository: { ...repository, dir: onDisk.repository.dir },
          wiki: wiki && { ...wiki, dir: onDisk.wiki!.dir },
        },
        parts,
      )
    })
  return { ...snapshotOf(copies, parts), report, remove: async () => {} }
}

const needGit = () => {
  throw new NeedsGit('the snapshot is in memory')
}
const NO_GIT: Git = { run: needGit, text: needGit, start: needGit }

async function takeUntilComplete(
  first: Examination,
  dir: string,
  parts: ExamineParts & { link: Link },
): Promise<Omit<TakenSnapshot, 'remove'>> {
  let examination = first
  for (let attempt = 1; ; attempt++) {
    const attemptDir = join(dir, String(attempt))
    try {
      const make = (found: ExaminedRepository, name: string) =>
        makeScratchRepository(found, join(attemptDir, name), parts)
      const repository = await make(examination.repository, 'repository.git')
      const wiki = examination.wiki && (await make(examination.wiki, 'wiki.git'))
      return snapshotOf({ examination, repository, wiki }, parts)
    } catch (error) {
      if (!(error instanceof ChangedDuringRead)) throw error
      if (attempt === MAX_ATTEMPTS) throw keepsChanging(first.location.fullName, error)
      await rm(attemptDir, REMOVAL)
      examination = await examine(first.location, parts)
    }
  }
}

type Copies = Pick<TakenSnapshot, 'examination' | 'repository' | 'wiki'>

function snapshotOf(copies: Copies, parts: ExamineParts): Omit<TakenSnapshot, 'remove'> {
  const { examination, repository, wiki } = copies
  return {
    ...copies,
    entries: () => entriesOf(examination.location.fullName, repository, wiki),
    verify: (last, signal) => verify(copies, parts.git, signal, last),
    report: () => reportOfSnapshot(copies, parts),
  }
}

/** A constant, so that the same content gives the same archive. Not the epoch, which some tools take for an unset clock. */
const MODIFIED_AT = Date.UTC(2001, 0, 1)
const DIRECTORY = { kind: 'directory', size: 0, modifiedAt: MODIFIED_AT, packed: false } as const

async function* entriesOf(
  fullName: string,
  repository: ScratchRepository,
  wiki: ScratchRepository | null,
): AsyncGenerator<SnapshotEntry> {
  const parts: [root: string, part: ScratchRepository][] = [
    [`repositories/${fullName}.git`, repository],
  ]
  if (wiki) parts.push([`repositories/${fullName}.wiki.git`, wiki])
  for (const [root, part] of parts) {
    yield { ...DIRECTORY, path: root, open: () => [] }
    for (const path of part.directories)
      yield { ...DIRECTORY, path: `${root}/${path}`, open: () => [] }
  }
  for (const [root, part] of parts)
    for (const file of part.files)
      yield {
        path: `${root}/${file.path}`,
        kind: 'file',
        size: file.size,
        modifiedAt: MODIFIED_AT,
        packed: file.kind !== 'text',
        open: () => checkedBytes(part, file),
      }
}
