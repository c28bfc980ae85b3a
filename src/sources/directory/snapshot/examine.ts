import { createHash } from 'node:crypto'
import type { Git } from '../../../git/git.ts'
import { Unreadable } from '../../unreadable.ts'
import type { BareRepository } from './bare-repository.ts'
import {
  hasAlternates,
  readObjectFormat,
  refuseCutHistory,
  refuseOtherPlaces,
} from './examine-kind.ts'
import {
  isBehindLinks,
  listLfsObjects,
  listObjectFiles,
  type ObjectFile,
} from './examine-objects.ts'
import { type Refs, readRefs } from './examine-refs.ts'
import { readText } from './examine-text.ts'
import { byName, Moved } from './snapshot-troubles.ts'

export interface RepositoryPlace {
  dir: string
  /** The bare repository of its wiki, where there is one. */
  wikiDir?: string | undefined
  /** `Owner/Name`, as it is to be written in the archive. */
  fullName: string
}

/** One bare repository as it was found at one moment. */
export interface Found extends BareRepository, Refs {
  description: string
  /** Objects may lie elsewhere (alternates, links): not all of those are its own, and perhaps not all of its own are here. */
  borrows: boolean
  objectFiles: ObjectFile[]
  lfsObjects: ObjectFile[]
}

export interface Examination {
  place: RepositoryPlace
  repository: Found
  wiki: Found | null
  /** Of the repository's own objects and LFS objects; what it borrows is not counted. */
  bytes: number
  /** SHA-256 of all that decides what the snapshot holds: equal fingerprints, equal content. */
  fingerprint: string
}

/** Raise it when a snapshot of the same repository would come out with other bytes. */
const SNAPSHOT_FORMAT = 1

const MOST_LOOKS = 10

/** A cheap look, safe beside pushes and repacks. Throws Refused, Damaged, or else Unreadable, each fit for a user. */
export async function examine(
  place: RepositoryPlace,
  git: Git,
  signal: AbortSignal,
): Promise<Examination> {
  const { dir, wikiDir, fullName } = place
  const repository = await find({ dir, name: fullName }, git, signal)
  const wiki =
    wikiDir === undefined
      ? null
      : await find({ dir: wikiDir, name: `${fullName}.wiki` }, git, signal)
  const files = [repository, wiki].flatMap((found) =>
    found ? [...found.objectFiles, ...found.lfsObjects] : [],
  )
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return { place, repository, wiki, bytes, fingerprint: fingerprint(fullName, repository, wiki) }
}

async function find(
  at: { dir: string; name: string },
  git: Git,
  signal: AbortSignal,
): Promise<Found> {
  try {
    const repository = { ...at, objectFormat: await readObjectFormat(at, git, signal) }
    await refuseOtherPlaces(repository)
    await refuseCutHistory(repository)
    return await lookUntilStill(repository, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw byName(at.name, error, at.dir)
  }
}

/**
 * Refs are read before objects, so all they name is there to be listed, and again after, so that a push of several
 * refs is seen whole. Where pushes never pause, the last look stands: each of its refs was true when it was read.
 */
async function lookUntilStill(repository: BareRepository, signal: AbortSignal): Promise<Found> {
  for (let looks = 1; ; looks++) {
    signal.throwIfAborted()
    try {
      const refs = await readRefs(repository)
      const rest = await lookAtFiles(repository)
      const still = JSON.stringify(refs) === JSON.stringify(await readRefs(repository))
      if (still || looks === MOST_LOOKS) return { ...repository, ...refs, ...rest }
    } catch (error) {
      if (!(error instanceof Moved)) throw error
      if (looks === MOST_LOOKS) throw keepsChanging(repository.name, error)
    }
  }
}

async function lookAtFiles(repository: BareRepository) {
  const objectFiles = await listObjectFiles(repository)
  return {
    description: (await readText(repository, 'description')) ?? '',
    borrows: (await hasAlternates(repository)) || (await isBehindLinks(repository, objectFiles)),
    objectFiles,
    lfsObjects: await listLfsObjects(repository),
  }
}

export function keepsChanging(name: string, cause: unknown): Unreadable {
  return new Unreadable(`${name}: its files kept changing while they were read`, { cause })
}

function fingerprint(fullName: string, repository: Found, wiki: Found | null): string {
  const canonical = [SNAPSHOT_FORMAT, fullName, content(repository), wiki && content(wiki)]
  return createHash('sha256').update(JSON.stringify(canonical)).digest('hex')
}

function content(found: Found): unknown {
  const pointer = (to: Refs['head']) => ('oid' in to ? to.oid : `ref: ${to.target}`)
  const file = ({ path, size }: ObjectFile) => [path, size]
  return [
    found.objectFormat,
    pointer(found.head),
    found.refs.map((ref) => [ref.name, pointer(ref)]),
    found.description,
    found.borrows,
    found.objectFiles.map(file),
    found.lfsObjects.map(file),
  ]
}
