import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  MANIFEST_PATH,
  type Manifest,
  type ManifestRepository,
  parseManifest,
} from '../archive/manifest.ts'
import type { Git } from '../git/git.ts'
import { gitDirectory, type VerifiedCopy } from '../sources/directory/git-directory.ts'
import type { Snapshot } from '../sources/snapshot.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { compareFiles, compareRepository, compareSegment } from './compare-manifest.ts'
import type { SegmentRun, Unpacked } from './unpack-archive.ts'

export type CheckedRepository = { fullName: string } & (
  | { errors: string[] }
  /** Verified. The snapshot exists until the next repository is requested, unless the caller moves it away. */
  | { snapshot: Snapshot; isPackedAgain: boolean }
)

/** Returns undefined if there is none, because Godwit did not write the archive. Throws ManifestInvalid. */
export async function readManifest(root: string): Promise<Manifest | undefined> {
  const file = join(root, MANIFEST_PATH)
  return existsSync(file) ? parseManifest(await readFile(file, 'utf8')) : undefined
}

export interface CheckRepositoriesParts {
  git: Git
  scratch: string
  /** Selects repositories by full name. Without it all are checked. */
  isWanted?(fullName: string): boolean
}

const MISSING = 'the manifest names it, and it is not in the archive'
const TRUNCATED = 'it cannot be read to its end, because the archive cannot'

/** Checks each repository that the archive contains or its manifest names, one after another. */
export async function* checkRepositories(
  { root, runs, damage }: Unpacked,
  manifest: Manifest | undefined,
  { git, scratch, isWanted = () => true }: CheckRepositoriesParts,
  signal: AbortSignal,
): AsyncGenerator<CheckedRepository> {
  const repositories = join(root, 'repositories')
  await mkdir(repositories, { recursive: true })
  const named = new Map(manifest?.repositories.map((each) => [each.full_name, each]))
  const source = gitDirectory({ root: repositories, git })
  const lastRun = [...runs.keys()].at(-1)
  for await (const listed of source.list()) {
    if ('refused' in listed) {
      const { path, reason } = listed.refused
      named.delete(path.replace(/\.git$/, ''))
      yield { fullName: path, errors: [reason] }
      continue
    }
    if ('members' in listed) continue
    const fullName = `${listed.found.owner}/${listed.found.name}`
    const expected = named.get(fullName)
    named.delete(fullName)
    if (!isWanted(fullName)) continue
    if (manifest && !expected) {
      yield { fullName, errors: ['it is in the archive and not in the manifest'] }
      continue
    }
    const run = runs.get(fullName)
    const isLast = !manifest && fullName === lastRun
    if (damage && (isLast || (expected && isTruncated(expected, run)))) {
      yield { fullName, errors: [TRUNCATED] }
      continue
    }
    const differences = expected && run ? compareSegment(expected, run) : []
    // A program that packs an archive again writes other tar headers. Then the files are compared instead.
    const isPackedAgain = differences.length > 0 && !damage
    const errors = isPackedAgain && expected ? await compareFiles(root, expected) : differences
    const prove = () => source.makeVerifiedCopy(listed.found, scratch, signal)
    yield* proveRepository(fullName, prove, { expected, errors, isPackedAgain })
  }
  for (const fullName of named.keys())
    if (isWanted(fullName)) yield { fullName, errors: [damage ? TRUNCATED : MISSING] }
}

function isTruncated({ segment }: ManifestRepository, run: SegmentRun | undefined): boolean {
  return (run?.plainLength ?? 0) < segment.plain_length
}

interface Compared {
  expected: ManifestRepository | undefined
  errors: string[]
  isPackedAgain: boolean
}

async function* proveRepository(
  fullName: string,
  prove: () => Promise<VerifiedCopy>,
  { expected, errors, isPackedAgain }: Compared,
): AsyncGenerator<CheckedRepository> {
  let proven: VerifiedCopy
  try {
    proven = await prove()
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // The caller adds the name to each error.
    yield { fullName, errors: [...errors, error.message.replace(`${fullName}: `, '')] }
    return
  }
  const { snapshot, examination } = proven
  try {
    const all = [...errors, ...(expected ? compareRepository(expected, examination) : [])]
    yield all.length > 0 ? { fullName, errors: all } : { fullName, snapshot, isPackedAgain }
  } finally {
    await snapshot.remove()
  }
}

/** Returns a line for each repository that the archive was made without. */
export function skippedRepositories({ skipped }: Pick<Manifest, 'skipped'>): string[] {
  return skipped.map(
    ({ full_name, reason }) => `${full_name} was skipped when the archive was made: ${reason}`,
  )
}

/** Returns a line about the LFS objects that a repository was exported without, or an empty list if there are none. */
export function unexportedLfs({
  full_name,
  lfs_missing = [],
}: Pick<ManifestRepository, 'full_name' | 'lfs_missing'>): string[] {
  const when = 'missing on the host when it was exported'
  return describeMissing(full_name, lfs_missing, ['was', 'were'], when)
}

/**
 * Returns a line about LFS objects that files of a repository refer to and the archive does not contain. They are taken from the
 * manifest, or else found by the LFS pointers. GitHub's archives never contain LFS objects.
 */
export async function missingLfs(
  fullName: string,
  { report }: Pick<Snapshot, 'report'>,
  manifest: Manifest | undefined,
): Promise<string[]> {
  const named = manifest?.repositories.find(({ full_name }) => full_name === fullName)
  if (named?.lfs_missing) return unexportedLfs(named)
  try {
    const { missingLfs: missing } = await report()
    return describeMissing(fullName, missing, ['is', 'are'], 'not in the archive')
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // The repository can be restored nevertheless.
    return [`whether it lacks LFS objects is not known: ${error.message}`]
  }
}

const MAX_NAMED = 3

function describeMissing(
  fullName: string,
  missing: readonly { oid: string }[],
  [is, are]: [string, string],
  where: string,
): string[] {
  if (missing.length === 0) return []
  const count = missing.length === 1 ? `1 LFS object ${is}` : `${missing.length} LFS objects ${are}`
  const first = missing.slice(0, MAX_NAMED).map(({ oid }) => oid)
  const more = missing.length > MAX_NAMED ? ', …' : ''
  return [`${fullName}: ${count} ${where}: ${first.join(', ')}${more}`]
}
