import { link as hardLink, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Examination, Snapshot, SnapshotEntry } from '../../snapshot.ts'
import { ChangedDuringRead } from '../files/repository-errors.ts'
import { type ExamineParts, examine, keepsChanging } from './examine.ts'
import { type Link, makeScratchRepository, type ScratchRepository } from './scratch-repository.ts'
import { reportOfSnapshot } from './snapshot-warning.ts'
import { checkedBytes, verify } from './verify-snapshot.ts'

/** A snapshot with what only this folder uses. */
export interface TakenSnapshot extends Snapshot {
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

const MAX_ATTEMPTS = 20
/** Retries while the process has no file handles left. */
const REMOVAL = { recursive: true, force: true, maxRetries: 8, retryDelay: 250 }

/** Links (otherwise reflinks or copies) the examined files into `scratchDir`; examines again when a file has disappeared. */
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

async function takeUntilComplete(
  first: Examination,
  dir: string,
  parts: ExamineParts & { link: Link },
): Promise<Omit<TakenSnapshot, 'remove'>> {
  let examination = first
  for (let attempt = 1; ; attempt++) {
    const attemptDir = join(dir, String(attempt))
    try {
      const { location: place, repository: found, wiki: foundWiki } = examination
      const repository = await makeScratchRepository(
        found,
        join(attemptDir, 'repository.git'),
        parts,
      )
      const wiki =
        foundWiki && (await makeScratchRepository(foundWiki, join(attemptDir, 'wiki.git'), parts))
      const taken = { examination, repository, wiki }
      return {
        ...taken,
        entries: () => entriesOf(place.fullName, repository, wiki),
        verify: (last, signal) => verify(taken, parts.git, signal, last),
        report: () => reportOfSnapshot(taken, parts),
      }
    } catch (error) {
      if (!(error instanceof ChangedDuringRead)) throw error
      if (attempt === MAX_ATTEMPTS) throw keepsChanging(first.location.fullName, error)
      await rm(attemptDir, REMOVAL)
      examination = await examine(first.location, parts)
    }
  }
}

/** A constant, so that the same content gives the same archive. Not the epoch, which some tools take for an unset clock. */
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
