import type { Git } from '../../../git/git.ts'
import { readable } from '../../refs.ts'
import type {
  Examination,
  ExaminedRepository,
  LfsPointer,
  ObjectFile,
  SnapshotReport,
} from '../../snapshot.ts'
import { headsOf } from '../files/read-refs.ts'
import { orDamaged } from '../files/repository-errors.ts'
import { refuseSpecialFiles } from '../files/special-files.ts'
import { findPointers } from './lfs-pointers.ts'
import type { ScratchRepository } from './scratch-repository.ts'

interface Parts {
  git: Git
  signal: AbortSignal
}

interface Taken {
  examination: Examination
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

/** Reports on a snapshot after all its entries were read. Runs git only where those may contain LFS pointers. */
export function reportOfSnapshot(
  { examination, repository, wiki }: Taken,
  parts: Parts,
): Promise<SnapshotReport> {
  return report(examination, async (found) => {
    const taken = found === examination.wiki ? wiki : repository
    return taken?.pointerDetector.mayHavePointers ? pointersOf(found, taken.dir, parts) : []
  })
}

/** Returns the warning that a snapshot would report. Runs git where the examination did not look for LFS pointers. */
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
  const parts: PointersAndObjects[] = []
  for (const found of [examination.repository, examination.wiki])
    if (found) {
      const pointers = found.lfsPointers ?? (await pointersIn(found))
      parts.push({ pointers, objects: found.lfsObjects })
    }
  const { missing, warnings } = lfsReport(parts)
  const all = [...warnings, ...importerWarnings(examination)]
  return { missingLfs: missing, warning: all.length === 0 ? null : all.join('; ') }
}

function pointersOf(
  found: ExaminedRepository,
  dir: string,
  { git, signal }: Parts,
): Promise<LfsPointer[]> {
  const find = () => findPointers(git, dir, headsOf(found), signal)
  return orDamaged({ name: found.name, dir }, signal, find)
}

const MAX_NAMES = 3

interface PointersAndObjects {
  pointers: readonly LfsPointer[]
  objects: readonly ObjectFile[]
}

/** Finds pointers whose object is missing or has another size. The host's own clients cannot fetch those either. */
function lfsReport(parts: readonly PointersAndObjects[]): {
  missing: LfsPointer[]
  warnings: string[]
} {
  const missing = new Map<string, LfsPointer>()
  const otherSize = new Set<string>()
  for (const { pointers, objects } of parts) {
    const sizes = new Map(objects.map(({ path, size }) => [path.split('/').at(-1), size]))
    for (const pointer of pointers) {
      const { oid, size } = pointer
      const found = sizes.get(oid)
      if (found === undefined) missing.set(oid, pointer)
      else if (found !== size) otherSize.add(oid)
    }
  }
  const warnings = [
    countAndNames(missing.keys(), 'LFS object is missing', 'LFS objects are missing'),
    countAndNames(
      otherSize.keys(),
      'LFS object differs in size from its pointer',
      'LFS objects differ in size from their pointers',
    ),
  ].filter((text) => text !== undefined)
  return {
    missing: [...missing.values()].sort((a, b) => (a.oid < b.oid ? -1 : 1)),
    warnings,
  }
}

function countAndNames(
  names: Iterable<string>,
  singular: string,
  plural: string,
): string | undefined {
  const oids = [...names]
  if (oids.length === 0) return undefined
  return `${oids.length} ${oids.length === 1 ? singular : plural}: ${firstNames(oids)}`
}

function firstNames(names: readonly string[]): string {
  const more = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''
  return `${names.slice(0, MAX_NAMES).join(', ')}${more}`
}

/** GitHub takes such a name for the name of an object. */
const OBJECT_LIKE_NAME = /^refs\/(?:heads|tags)\/([0-9a-f]{40})$/i

/**
 * Returns what GitHub's importers refuse of an exported repository, and what is not exported. It follows from the examination alone,
 * so that an export and a preflight report the same.
 */
function importerWarnings({ repository, wiki }: Examination): string[] {
  const parts = wiki ? [repository, wiki] : [repository]
  return [
    ...(parts.some(({ objectFormat }) => objectFormat === 'sha256')
      ? ["GitHub's importers do not take repositories with SHA-256 objects"]
      : []),
    ...hexNameWarnings(parts),
    ...lfsWarnings(parts),
    ...parts.flatMap(({ preserved }) =>
      preserved.attributesProblem === undefined
        ? []
        : [`${preserved.attributesProblem}: not exported`],
    ),
  ]
}

function hexNameWarnings(parts: readonly ExaminedRepository[]): string[] {
  const names = parts.flatMap(({ refs }) =>
    refs.flatMap(({ name }) => (OBJECT_LIKE_NAME.test(name) ? [readable(name)] : [])),
  )
  if (names.length === 0) return []
  return [`GitHub's importers refuse names of 40 hex digits: ${firstNames(names)}`]
}

function lfsWarnings(parts: readonly ExaminedRepository[]): string[] {
  const count = parts.reduce((sum, { lfsObjects: objects }) => sum + objects.length, 0)
  if (count === 0) return []
  const what = count === 1 ? '1 LFS object' : `${count} LFS objects`
  return [`GitHub's importers do not take LFS objects: push ${what} after the import`]
}
