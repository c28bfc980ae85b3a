import type { Manifest, ManifestRepository } from '../archive/manifest.ts'
import type { Snapshot } from '../sources/snapshot.ts'
import { Unreadable } from '../sources/unreadable.ts'

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
