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
import { gitDirectory, type Proven } from '../sources/directory/git-directory.ts'
import type { Snapshot } from '../sources/snapshot.ts'
import { Unreadable } from '../sources/unreadable.ts'
import { fileDisagreements, manifestErrors, runDisagreement } from './compare-manifest.ts'
import type { SegmentRun, Unpacked } from './unpack-archive.ts'

/** What became of one repository of the archive. */
export type CheckedRepository = { fullName: string } & (
  | { faults: string[] }
  /** Whole, and what the manifest says. The snapshot is there until the next is asked for, unless it was moved away. */
  | { snapshot: Snapshot; isPackedAgain: boolean }
)

/** Undefined where there is none: the archive is not of Godwit's making. Throws ManifestInvalid. */
export async function readManifest(root: string): Promise<Manifest | undefined> {
  const file = join(root, MANIFEST_PATH)
  return existsSync(file) ? parseManifest(await readFile(file, 'utf8')) : undefined
}

export interface CheckRepositoriesParts {
  git: Git
  scratch: string
  /** By full name; all are, unless it says otherwise. */
  isWanted?(fullName: string): boolean
}

/** Each repository that the archive holds or its manifest names, one after another. */
export async function* checkRepositories(
  { root, runs, damage }: Unpacked,
  manifest: Manifest | undefined,
  { git, scratch, isWanted = () => true }: CheckRepositoriesParts,
  signal: AbortSignal,
): AsyncGenerator<CheckedRepository> {
  const repositories = join(root, 'repositories')
  await mkdir(repositories, { recursive: true })
  const said = new Map(manifest?.repositories.map((each) => [each.full_name, each]))
  const source = gitDirectory({ root: repositories, git })
  const lastRun = [...runs.keys()].at(-1)
  for await (const listed of source.list()) {
    if ('refused' in listed) {
      const { path, reason } = listed.refused
      said.delete(path.replace(/\.git$/, ''))
      yield { fullName: path, faults: [reason] }
      continue
    }
    if ('members' in listed) continue
    const fullName = `${listed.found.owner}/${listed.found.name}`
    const expected = said.get(fullName)
    said.delete(fullName)
    if (!isWanted(fullName)) continue
    if (manifest && !expected) {
      yield { fullName, faults: ['it is in the archive and not in the manifest'] }
      continue
    }
    const run = runs.get(fullName)
    const isLast = !manifest && fullName === lastRun
    if (damage && (isLast || (expected && isCutOff(expected, run)))) {
      yield { fullName, faults: [LOST] }
      continue
    }
    const differs = expected && run ? runDisagreement(expected, run) : []
    // Whoever packs an archive again writes the same files in headers of their own: then the files are compared.
    const isPackedAgain = differs.length > 0 && !damage
    const broken = isPackedAgain && expected ? await fileDisagreements(root, expected) : differs
    const prove = () => source.prove(listed.found, scratch, signal)
    yield* judge(fullName, prove, { expected, broken, isPackedAgain })
  }
  for (const fullName of said.keys())
    if (isWanted(fullName)) yield { fullName, faults: [damage ? LOST : MISSING] }
}

const MISSING = 'the manifest names it, and it is not in the archive'
const LOST = 'it cannot be read to its end, because the archive cannot'

function isCutOff({ segment }: ManifestRepository, run: SegmentRun | undefined): boolean {
  return (run?.plainLength ?? 0) < segment.plain_length
}

interface Compared {
  expected: ManifestRepository | undefined
  broken: string[]
  isPackedAgain: boolean
}

async function* judge(
  fullName: string,
  prove: () => Promise<Proven>,
  { expected, broken, isPackedAgain }: Compared,
): AsyncGenerator<CheckedRepository> {
  let proven: Proven
  try {
    proven = await prove()
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // The source begins with the name; here whoever tells it puts it there.
    const reason = error.message.replace(`${fullName}: `, '')
    yield { fullName, faults: [...broken, reason] }
    return
  }
  const { snapshot } = proven
  try {
    const differs = expected ? manifestErrors(expected, proven.examination) : []
    const faults = [...broken, ...differs]
    yield faults.length > 0 ? { fullName, faults } : { fullName, snapshot, isPackedAgain }
  } finally {
    await snapshot.remove()
  }
}

/** The repositories that an archive was made without, each in a line. */
export function skippedRepositories({ skipped }: Pick<Manifest, 'skipped'>): string[] {
  return skipped.map(
    ({ full_name, reason }) => `${full_name} was skipped when the archive was made: ${reason}`,
  )
}

/** The LFS objects that a repository was exported without, in a line; none where it has all. */
export function unexportedLfs({
  full_name,
  lfs_missing = [],
}: Pick<ManifestRepository, 'full_name' | 'lfs_missing'>): string[] {
  if (lfs_missing.length === 0) return []
  const missing = countInWords(lfs_missing, ['was', 'were'])
  return [
    `${full_name}: ${missing} missing on the host when it was exported: ${firstOf(lfs_missing)}`,
  ]
}

/**
 * The LFS objects that the files of a repository name and the archive does not hold, in a line: as its manifest has it, or as
 * its pointers say. GitHub's archives never hold any.
 */
export async function missingLfs(
  fullName: string,
  { report }: Pick<Snapshot, 'report'>,
  manifest: Manifest | undefined,
): Promise<string[]> {
  const said = manifest?.repositories.find(({ full_name }) => full_name === fullName)
  if (said?.lfs_missing) return unexportedLfs(said)
  try {
    const { missingLfs: missing } = await report()
    if (missing.length === 0) return []
    const told = countInWords(missing, ['is', 'are'])
    return [`${fullName}: ${told} not in the archive: ${firstOf(missing)}`]
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    // Everything that is there can be restored all the same.
    return [`whether it lacks LFS objects is not known: ${error.message}`]
  }
}

const MAX_NAMED = 3

type Named = readonly { oid: string }[]

function countInWords(missing: Named, [one, many]: [string, string]): string {
  return missing.length === 1 ? `1 LFS object ${one}` : `${missing.length} LFS objects ${many}`
}

function firstOf(missing: Named): string {
  const named = missing.slice(0, MAX_NAMED).map(({ oid }) => oid)
  return `${named.join(', ')}${missing.length > MAX_NAMED ? ', …' : ''}`
}
