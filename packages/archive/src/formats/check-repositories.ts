import { existsSync } from 'node:fs'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from '@godwit/git/git'
import type { Snapshot } from '@godwit/git/snapshot'
import { makeVerifiedCopy, type VerifiedCopy } from '@godwit/git/snapshot/verified-copy'
import { Unreadable } from '@godwit/git/unreadable'
import {
  MANIFEST_PATH,
  type Manifest,
  type ManifestRepository,
  parseManifest,
} from '../tar/manifest.ts'
import { compareFiles, compareRepository, compareSegment } from './compare-manifest.ts'
import { findRepositories } from './find-repositories.ts'
import type { Report, RepositoryContent } from './format.ts'
import type { Unpacked } from './unpack-archive.ts'

/** Returns undefined for an archive of another program, which has no manifest. Throws ManifestInvalid. */
export async function readManifest(root: string): Promise<Manifest | undefined> {
  const file = join(root, MANIFEST_PATH)
  return existsSync(file) ? parseManifest(await readFile(file, 'utf8')) : undefined
}

export interface CheckOptions {
  git: Git
  /** The directory for the snapshots, on the file system of the output. */
  scratch: string
  /** Selects repositories by full name. Without it all are checked. */
  isWanted?(fullName: string): boolean
  signal: AbortSignal
}

export interface ReaderOptions extends Omit<CheckOptions, 'isWanted'> {
  /** `owner/name` of the repositories to read, in lower case. If empty, all are read. Content of others is not reported as lost. */
  wanted: ReadonlySet<string>
  report: Report
}

const TRUNCATED = 'it is incomplete, because the archive is truncated or damaged'

/** Verifies each repository that is in the archive or in its manifest, and compares it with the manifest, if there is one. */
export async function* checkRepositories(
  unpacked: Unpacked,
  manifest: Manifest | undefined,
  { git, scratch, isWanted = () => true, signal }: CheckOptions,
): AsyncGenerator<RepositoryContent> {
  const repositories = join(unpacked.root, 'repositories')
  await mkdir(repositories, { recursive: true })
  const unseen = new Map(manifest?.repositories.map((each) => [each.full_name, each]))
  for (const found of await findRepositories(repositories)) {
    if ('reason' in found) {
      const { path, reason } = found
      const name = path.replace(/\.git$/, '')
      unseen.delete(name)
      if (isWanted(name)) yield { fullName: path, errors: [reason] }
      continue
    }
    const { fullName, wikiReason } = found
    const expected = unseen.get(fullName)
    unseen.delete(fullName)
    if (!isWanted(fullName)) continue
    const takeCopy = async () => {
      if (wikiReason !== undefined) throw new Unreadable(`${fullName}.wiki: ${wikiReason}`)
      return await makeVerifiedCopy(found, scratch, { git, signal })
    }
    if (manifest && !expected)
      yield { fullName, errors: ['it is in the archive and not in the manifest'] }
    else yield* checkRepository(unpacked, fullName, expected, takeCopy)
  }
  const reason = unpacked.damage ? TRUNCATED : 'it is in the manifest and not in the archive'
  for (const fullName of unseen.keys()) if (isWanted(fullName)) yield { fullName, errors: [reason] }
}

/** Yields the result of one repository, and then removes its snapshot. `expected` is undefined if the archive has no manifest. */
async function* checkRepository(
  { root, checksums, damage }: Unpacked,
  fullName: string,
  expected: ManifestRepository | undefined,
  takeCopy: () => Promise<VerifiedCopy>,
): AsyncGenerator<RepositoryContent> {
  const tar = checksums.get(fullName)
  // Without a manifest, only the last repository in the archive can be incomplete.
  const isTruncated = () =>
    expected
      ? (tar?.plainLength ?? 0) < expected.segment.plain_length
      : fullName === [...checksums.keys()].at(-1)
  if (damage && isTruncated()) {
    yield { fullName, errors: [TRUNCATED] }
    return
  }
  let errors = expected && tar ? compareSegment(expected, tar) : []
  // A program that packs an archive again writes other tar headers. Then the files are compared instead.
  const isPackedAgain = errors.length > 0 && !damage
  if (isPackedAgain && expected) errors = await compareFiles(root, expected)
  let copy: VerifiedCopy
  try {
    copy = await takeCopy()
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // The caller adds the name to each error.
    yield { fullName, errors: [...errors, error.message.replace(`${fullName}: `, '')] }
    return
  }
  const { snapshot, examination } = copy
  try {
    if (expected) errors.push(...compareRepository(expected, examination))
    const missingLfs = () => describeMissingLfs(fullName, snapshot, expected)
    yield errors.length > 0
      ? { fullName, errors }
      : { fullName, snapshot, missingLfs, isPackedAgain }
  } finally {
    await snapshot.remove()
  }
}

/** Returns a line for each repository that was skipped by the export. */
export function describeSkipped({ skipped }: Manifest): string[] {
  return skipped.map(
    ({ full_name, reason }) => `${full_name} was skipped when the archive was made: ${reason}`,
  )
}

/** Returns a line about the LFS objects that a repository was exported without, or an empty list if there are none. */
export function describeUnexportedLfs({ full_name, lfs_missing }: ManifestRepository): string[] {
  const when = 'missing on the host when it was exported'
  return describeMissing(full_name, lfs_missing ?? [], ['was', 'were'], when)
}

/**
 * Returns a line about LFS objects that files of a repository refer to and the archive does not contain. They are taken from the
 * manifest, or else found by the LFS pointers. GitHub's archives never contain LFS objects.
 */
async function describeMissingLfs(
  fullName: string,
  { report }: Snapshot,
  listed: ManifestRepository | undefined,
): Promise<string[]> {
  if (listed?.lfs_missing) return describeUnexportedLfs(listed)
  try {
    const { missingLfs } = await report()
    return describeMissing(fullName, missingLfs, ['is', 'are'], 'not in the archive')
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // The repository can be restored nevertheless.
    return [`its LFS objects could not be checked: ${error.message}`]
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
