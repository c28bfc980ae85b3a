import { createHash } from 'node:crypto'
import type { Git } from '../../../git/git.ts'
import type { Refs } from '../../refs.ts'
import type {
  BareRepository,
  Examination,
  ExaminedPlace,
  Found,
  ObjectFile,
} from '../../snapshot.ts'
import { Unreadable } from '../../unreadable.ts'
import { headsOf, readRefs } from '../files/read-refs.ts'
import { readText } from '../files/read-text.ts'
import { ChangedDuringRead, orDamaged } from '../files/repository-errors.ts'
import {
  hasAlternates,
  readFormat,
  refuseCutHistory,
  refuseExternalPaths,
} from '../files/repository-format.ts'
import { listObjectFiles, mayBeHiddenByLinks } from './examine-objects.ts'
import { readKeptSettings } from './kept-settings.ts'
import { lfsPath, listLfsObjects } from './lfs-objects.ts'
import type { SharedLfs } from './lfs-shared.ts'

/** Raise it when a snapshot of the same repository would come out with other bytes, or more is proven or told of it. */
const SNAPSHOT_FORMAT = 4

const MAX_LOOKS = 10

/** A cheap look, safe beside pushes and repacks. Throws Unsupported, Damaged, or else Unreadable, each fit for a user. */
export async function examine(place: ExaminedPlace, parts: ExamineParts): Promise<Examination> {
  const { dir, wikiDir, fullName, origin, wikiOrigin } = place
  const repository = { origin, ...(await find({ dir, name: fullName }, parts)) }
  const wiki =
    wikiDir === undefined
      ? null
      : {
          origin: wikiOrigin,
          ...(await find({ dir: wikiDir, name: `${fullName}.wiki` }, parts)),
        }
  const files = [repository, wiki].flatMap((found) =>
    found ? [...found.objectFiles, ...found.lfsObjects] : [],
  )
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  return { place, repository, wiki, bytes, fingerprint: fingerprint(fullName, repository, wiki) }
}

export interface ExamineParts {
  git: Git
  /** Where LFS objects are looked for that the repository does not have itself. */
  sharedLfs?: SharedLfs | undefined
  signal: AbortSignal
}

type FoundInside = Omit<Found, 'origin'>

async function find(at: { dir: string; name: string }, parts: ExamineParts): Promise<FoundInside> {
  const { git, signal } = parts
  return orDamaged(at, signal, async () => {
    const { objectFormat, lfsStorage } = await readFormat(at, git, signal)
    const repository = { ...at, objectFormat }
    await refuseExternalPaths(repository)
    await refuseCutHistory(repository)
    return lookUntilStill(repository, lfsStorage, parts)
  })
}

/**
 * Refs are read before objects, so all they name is there to be listed, and again after, so that a push of several
 * refs is seen whole. Where pushes never pause, the last look stands: each of its refs was true when it was read.
 */
async function lookUntilStill(
  repository: BareRepository,
  lfsStorage: string | undefined,
  parts: ExamineParts,
): Promise<FoundInside> {
  for (let looks = 1; ; looks++) {
    parts.signal.throwIfAborted()
    try {
      const refs = await readRefs(repository)
      const files = await lookAtFiles(repository, parts)
      const lfs = await lookAtLfs({ ...repository, ...refs }, lfsStorage, parts)
      const still = JSON.stringify(refs) === JSON.stringify(await readRefs(repository))
      if (still || looks === MAX_LOOKS) return { ...repository, ...refs, ...files, ...lfs }
    } catch (error) {
      if (!(error instanceof ChangedDuringRead)) throw error
      if (looks === MAX_LOOKS) throw keepsChanging(repository.name, error)
    }
  }
}

async function lookAtFiles(repository: BareRepository, { git, signal }: ExamineParts) {
  const objectFiles = await listObjectFiles(repository)
  return {
    description: (await readText(repository, 'description')) ?? '',
    kept: await readKeptSettings(repository, git, signal),
    borrows:
      (await hasAlternates(repository)) || (await mayBeHiddenByLinks(repository, objectFiles)),
    objectFiles,
  }
}

async function lookAtLfs(
  repository: BareRepository & Refs,
  storage: string | undefined,
  { git, sharedLfs, signal }: ExamineParts,
): Promise<Pick<Found, 'lfsObjects' | 'lfsPointers'>> {
  const own = await listLfsObjects(repository, storage)
  if (!sharedLfs) return { lfsObjects: own, lfsPointers: null }
  const pointers = await sharedLfs
    .pointersOf(repository, headsOf(repository), git, signal)
    .catch(async (error: unknown) => {
      signal.throwIfAborted()
      // A head that was deleted since may have taken its objects along; that is no damage.
      const now = headsOf(await readRefs(repository))
      throw now.join() === headsOf(repository).join()
        ? error
        : new ChangedDuringRead('refs changed')
    })
  const has = new Set(own.map(({ path }) => path))
  const wanted = pointers.filter(({ oid }) => !has.has(lfsPath(oid)))
  const shared = await sharedLfs.objectsOf(repository, storage, wanted)
  return { lfsObjects: [...own, ...shared], lfsPointers: pointers }
}

export function keepsChanging(name: string, cause: unknown): Unreadable {
  return new Unreadable(`${name}: its files changed too often while they were read`, { cause })
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
    found.origin ?? null,
    found.description,
    [found.kept.denials, found.kept.attributes ?? null, found.kept.attributesProblem ?? null],
    found.borrows,
    found.objectFiles.map(file),
    found.lfsObjects.map(file),
  ]
}
