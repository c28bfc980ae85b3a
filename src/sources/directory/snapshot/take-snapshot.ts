import { link as hardLink, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Examination, Snapshot, SnapshotEntry } from '../../snapshot.ts'
import { ChangedDuringRead } from '../files/repository-errors.ts'
import { type ExamineParts, examine, keepsChanging } from './examine.ts'
import { type Link, makeScratch, type ScratchRepository } from './snapshot-scratch.ts'
import { reportOfSnapshot } from './snapshot-warning.ts'
import { checkedBytes } from './verify-bytes.ts'
import { verify } from './verify-objects.ts'

/** The same, as whoever works on it here sees it. */
export interface TakenSnapshot extends Snapshot {
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

const MAX_TRIES = 20
/** Where there are no file handles left for a while, it is tried again. */
const REMOVAL = { recursive: true, force: true, maxRetries: 8, retryDelay: 250 }

/** Links (else reflinks, else copies) what was examined into `scratchDir`; looks again when a file went away. */
export async function takeSnapshot(
  examination: Examination,
  scratchDir: string,
  parts: ExamineParts & { link?: Link },
): Promise<TakenSnapshot> {
  const dir = await mkdtemp(join(scratchDir, 'snapshot-'))
  const remove = () => rm(dir, REMOVAL)
  try {
    return { ...(await takeUntilWhole(examination, dir, { link: hardLink, ...parts })), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function takeUntilWhole(
  asked: Examination,
  dir: string,
  parts: ExamineParts & { link: Link },
): Promise<Omit<TakenSnapshot, 'remove'>> {
  let examination = asked
  for (let tries = 1; ; tries++) {
    const attempt = join(dir, String(tries))
    try {
      const { place, repository: found, wiki: foundWiki } = examination
      const repository = await makeScratch(found, join(attempt, 'repository.git'), parts)
      const wiki = foundWiki && (await makeScratch(foundWiki, join(attempt, 'wiki.git'), parts))
      const taken = { examination, repository, wiki }
      return {
        ...taken,
        entries: () => entriesOf(place.fullName, repository, wiki),
        verify: (last, signal) => verify(taken, parts.git, signal, last),
        report: () => reportOfSnapshot(taken, parts),
      }
    } catch (error) {
      if (!(error instanceof ChangedDuringRead)) throw error
      if (tries === MAX_TRIES) throw keepsChanging(asked.place.fullName, error)
      await rm(attempt, REMOVAL)
      examination = await examine(asked.place, parts)
    }
  }
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
