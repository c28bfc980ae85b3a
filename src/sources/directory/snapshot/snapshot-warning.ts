import { decodeUtf8 } from '../../refs.ts'
import type { Examination, ExaminedRepository, LfsPointer, SnapshotReport } from '../../snapshot.ts'
import { headsOf } from '../files/read-refs.ts'
import { withNamedErrors } from '../files/repository-errors.ts'
import { refuseSpecialFiles } from '../files/special-files.ts'
import type { ExamineParts } from './examine.ts'
import { findPointers } from './lfs-pointers.ts'
import type { ScratchRepository } from './scratch-repository.ts'

type Parts = Pick<ExamineParts, 'git' | 'signal'>

interface Taken {
  examination: Examination
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

/** Reports on a snapshot after all its entries were read. Runs git only if those may contain LFS pointers. */
export function reportOfSnapshot(
  { examination, repository, wiki }: Taken,
  parts: Parts,
): Promise<SnapshotReport> {
  return report(examination, async (found) => {
    const taken = found === examination.wiki ? wiki : repository
    return taken?.pointerDetector.mayHavePointers ? pointersOf(found, taken.dir, parts) : []
  })
}

/** Returns the warning that a snapshot would report. Runs git if the examination did not search for LFS pointers. */
export async function warningOfExamination(
  examination: Examination,
  parts: Parts,
): Promise<string | null> {
  const { warning } = await report(examination, async (found) => {
    await refuseSpecialFiles(found, parts)
    return pointersOf(found, found.dir, parts)
  })
  return warning
}

async function report(
  examination: Examination,
  pointersIn: (found: ExaminedRepository) => Promise<LfsPointer[]>,
): Promise<SnapshotReport> {
  // The host's own clients cannot fetch these objects either.
  const missing = new Map<string, LfsPointer>()
  const otherSize = new Set<string>()
  for (const found of [examination.repository, examination.wiki]) {
    if (!found) continue
    const sizes = new Map(found.lfsObjects.map(({ path, size }) => [path.split('/').at(-1), size]))
    for (const pointer of found.lfsPointers ?? (await pointersIn(found))) {
      const size = sizes.get(pointer.oid)
      if (size === undefined) missing.set(pointer.oid, pointer)
      else if (size !== pointer.size) otherSize.add(pointer.oid)
    }
  }
  const warnings = [
    ...countAndNames([...missing.keys()], 'LFS object is missing', 'LFS objects are missing'),
    ...countAndNames(
      [...otherSize],
      'LFS object differs in size from its pointer',
      'LFS objects differ in size from their pointers',
    ),
    ...importerWarnings(examination),
  ]
  return {
    missingLfs: [...missing.values()].sort((a, b) => (a.oid < b.oid ? -1 : 1)),
    warning: warnings.length === 0 ? null : warnings.join('; '),
  }
}

function pointersOf(
  found: ExaminedRepository,
  dir: string,
  { git, signal }: Parts,
): Promise<LfsPointer[]> {
  const find = () => findPointers(git, dir, headsOf(found), signal)
  return withNamedErrors({ name: found.name, dir }, signal, find)
}

const MAX_NAMES = 3

function countAndNames(oids: readonly string[], singular: string, plural: string): string[] {
  if (oids.length === 0) return []
  return [`${oids.length} ${oids.length === 1 ? singular : plural}: ${firstNames(oids)}`]
}

function firstNames(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  return `${names.slice(0, MAX_NAMES).join(', ')}${more}`
}

/** GitHub interprets such a name as an object name. */
const OBJECT_LIKE_NAME = /^refs\/(?:heads|tags)\/([0-9a-f]{40})$/i

/**
 * Returns warnings about what GitHub's importers refuse and what is not exported. They follow from the examination alone, so that an
 * export and a preflight report the same.
 */
function importerWarnings({ repository, wiki }: Examination): string[] {
  const parts = wiki ? [repository, wiki] : [repository]
  const warnings: string[] = []
  if (parts.some(({ objectFormat }) => objectFormat === 'sha256'))
    warnings.push("GitHub's importers do not take repositories with SHA-256 objects")
  const refNames = parts.flatMap(({ refs }) => refs.map(({ name }) => name))
  const hexNames = refNames.filter((name) => OBJECT_LIKE_NAME.test(name)).map(decodeUtf8)
  if (hexNames.length > 0)
    warnings.push(`GitHub's importers refuse names of 40 hex digits: ${firstNames(hexNames)}`)
  const lfsCount = parts.reduce((sum, { lfsObjects }) => sum + lfsObjects.length, 0)
  if (lfsCount > 0) {
    const what = lfsCount === 1 ? '1 LFS object' : `${lfsCount} LFS objects`
    warnings.push(`GitHub's importers do not take LFS objects: push ${what} after the import`)
  }
  for (const { preserved } of parts)
    if (preserved.attributesProblem !== undefined)
      warnings.push(`${preserved.attributesProblem}: not exported`)
  return warnings
}
