import { link as hardLink, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import { type Examination, examine, keepsChanging } from './examine.ts'
import { Moved } from './snapshot-errors.ts'
import { type Link, makeScratch, type ScratchRepository } from './snapshot-scratch.ts'
import { reportOfSnapshot, type SnapshotReport } from './snapshot-warning.ts'
import { checkedBytes } from './verify-bytes.ts'

/** A repository and its wiki as they were at one moment, apart from the source and unchanging. */
export interface Snapshot {
  /** Of what was taken, which is newer than what was asked for where files moved meanwhile. */
  examination: Examination
  repository: ScratchRepository
  wiki: ScratchRepository | null
  /**
   * Directories before files, in an order and with times that depend on the content alone. Reading a file to its end
   * checks it: the stream rejects with Damaged where the bytes are not those of the object.
   */
  entries(): AsyncIterable<SnapshotEntry>
  /** What is to be told of it though it is whole, once all entries were read. */
  report(): Promise<SnapshotReport>
  remove(): Promise<void>
}

const MAX_TRIES = 20
/** Where there are no file handles left for a while, it is tried again. */
const REMOVAL = { recursive: true, force: true, maxRetries: 8, retryDelay: 250 }

/** Links (else reflinks, else copies) what was examined into `scratchDir`; looks again when a file went away. */
export async function takeSnapshot(
  examination: Examination,
  scratchDir: string,
  git: Git,
  signal: AbortSignal,
  link: Link = hardLink,
): Promise<Snapshot> {
  const dir = await mkdtemp(join(scratchDir, 'snapshot-'))
  const remove = () => rm(dir, REMOVAL)
  try {
    return { ...(await takeUntilWhole(examination, dir, { git, signal, link })), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function takeUntilWhole(
  asked: Examination,
  dir: string,
  parts: { git: Git; signal: AbortSignal; link: Link },
): Promise<Omit<Snapshot, 'remove'>> {
  let examination = asked
  for (let tries = 1; ; tries++) {
    const attempt = join(dir, String(tries))
    try {
      const { place, repository: found, wiki: foundWiki } = examination
      const repository = await makeScratch(found, join(attempt, 'repository.git'), parts)
      const wiki = foundWiki && (await makeScratch(foundWiki, join(attempt, 'wiki.git'), parts))
      const entries = () => entriesOf(place.fullName, repository, wiki)
      const report = () => reportOfSnapshot(taken, parts)
      const taken = { examination, repository, wiki, entries, report }
      return taken
    } catch (error) {
      if (!(error instanceof Moved)) throw error
      if (tries === MAX_TRIES) throw keepsChanging(asked.place.fullName, error)
      await rm(attempt, REMOVAL)
      examination = await examine(asked.place, parts.git, parts.signal)
    }
  }
}

export interface SnapshotEntry {
  /** From the root of the archive, without a slash at the end. */
  path: string
  kind: 'directory' | 'file'
  size: number
  /** Epoch milliseconds. */
  modifiedAt: number
  /** Compressed already: deflating it again is wasted. */
  packed: boolean
  /** A chunk is good until the next is asked for. */
  open(): AsyncIterable<Uint8Array> | Iterable<Uint8Array>
}

/** Always the same, so that the same content gives the same archive; no tool takes it for an unset clock. */
const MODIFIED_AT = Date.UTC(2001, 0, 1)

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
    yield directory(root)
    for (const path of part.directories) yield directory(`${root}/${path}`)
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

function directory(path: string): SnapshotEntry {
  return {
    path,
    kind: 'directory',
    size: 0,
    modifiedAt: MODIFIED_AT,
    packed: false,
    open: () => [],
  }
}
