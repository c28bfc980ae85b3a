import { formatCount } from '@godwit/lib/quantities'
import { headsOf } from '../files/read-refs.ts'
import { orUnreadable } from '../files/repository-errors.ts'
import { refuseSpecialFiles } from '../files/special-files.ts'
import { decodeUtf8, resolvedRefs } from '../refs.ts'
import type { Examination, LfsPointer, SnapshotReport } from '../snapshot.ts'
import type { ExamineDependencies } from './examine.ts'
import { exceededLimits, GITHUB_LIMITS, withNames } from './importer-limits.ts'
import { findPointers } from './lfs-pointers.ts'
import type { ScratchRepository } from './scratch-repository.ts'

type WarningDependencies = Pick<ExamineDependencies, 'git' | 'signal'>

interface Copies {
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

/** Reports on a snapshot after all its entries were read. Runs searches with git only if the entries may contain what is searched. */
export const reportOfSnapshot = (
  { examination, ...copies }: Copies & { examination: Examination },
  dependencies: WarningDependencies,
): Promise<SnapshotReport> => report(examination, dependencies, copies)

const MAX_KEPT_WARNINGS = 10_000

/**
 * Returns the warning that a snapshot would report. Runs git, unlike the examination, and keeps the result by fingerprint: the
 * dashboard asks again after each change of a selection.
 */
export async function warningOfExamination(
  examination: Examination,
  {
    warnings = new Map(),
    ...dependencies
  }: WarningDependencies & { warnings?: Map<string, string | null> },
): Promise<string | null> {
  for (const found of [examination.repository, examination.wiki])
    if (found) await refuseSpecialFiles(found, dependencies)
  const { fingerprint } = examination
  const known = warnings.get(fingerprint)
  if (known !== undefined) return known
  const { warning } = await report(examination, dependencies)
  if (warnings.size >= MAX_KEPT_WARNINGS) warnings.clear()
  warnings.set(fingerprint, warning)
  return warning
}

/** Searches the source, or its copies, which know what they may contain. */
async function report(
  examination: Examination,
  { git, signal }: WarningDependencies,
  copies?: Copies,
): Promise<SnapshotReport> {
  // Objects that the host lacks are no error: its own clients cannot fetch them either.
  const missing = new Map<string, LfsPointer>()
  const otherSize = new Set<string>()
  const exceeded: string[] = []
  for (const part of ['repository', 'wiki'] as const) {
    const found = examination[part]
    if (!found) continue
    const copy = copies?.[part]
    const { dir } = copy ?? found
    const search = async () => ({
      pointers:
        found.lfsPointers ??
        (copy?.detector.mayHavePointers === false
          ? []
          : await findPointers(git, dir, headsOf(found), signal)),
      limits: await exceededLimits(found, {
        git,
        dir,
        signal,
        limits: GITHUB_LIMITS,
        mayHaveLargeFiles: copy?.detector.mayHaveLargeFiles,
      }),
    })
    const { pointers, limits } = await orUnreadable({ name: found.name, dir }, signal, search)
    exceeded.push(...limits.map((text) => (part === 'wiki' ? `wiki: ${text}` : text)))
    const sizes = new Map(found.lfsObjects.map(({ path, size }) => [path.split('/').at(-1), size]))
    for (const pointer of pointers) {
      const size = sizes.get(pointer.oid)
      if (size === undefined) missing.set(pointer.oid, pointer)
      else if (size !== pointer.size) otherSize.add(pointer.oid)
    }
  }
  const warnings = [
    ...withNames(`${formatCount(missing.size, 'LFS object is', 'LFS objects are')} missing`, [
      ...missing.keys(),
    ]),
    ...withNames(
      formatCount(
        otherSize.size,
        'LFS object differs in size from its pointer',
        'LFS objects differ in size from their pointers',
      ),
      [...otherSize],
    ),
    ...importerWarnings(examination),
    ...exceeded,
  ]
  return {
    missingLfs: [...missing.values()].sort((a, b) => (a.oid < b.oid ? -1 : 1)),
    warning: warnings.length === 0 ? null : warnings.join('; '),
  }
}

/** GitHub interprets such a name as an object name. */
const OBJECT_LIKE_NAME = /^refs\/(?:heads|tags)\/([0-9a-f]{40})$/i

/**
 * Returns warnings about what GitHub's importers refuse and what is not exported. They follow from the examination alone, so that an
 * export and a preflight report the same.
 */
function importerWarnings({ repository, wiki }: Examination): string[] {
  const repositories = wiki ? [repository, wiki] : [repository]
  const warnings: string[] = []
  if (repositories.some(({ objectFormat }) => objectFormat === 'sha256'))
    warnings.push("GitHub's importers do not take repositories with SHA-256 objects")
  const refNames = repositories.flatMap(({ refs }) => refs.map(({ name }) => name))
  const hexNames = refNames.filter((name) => OBJECT_LIKE_NAME.test(name)).map(decodeUtf8)
  warnings.push(...withNames("GitHub's importers refuse names of 40 hex digits", hexNames))
  const dangling = repositories.flatMap(({ refs }) => {
    const resolved = new Set(resolvedRefs(refs).map(({ ref }) => ref))
    return refs.filter((ref) => !resolved.has(ref)).map(({ name }) => decodeUtf8(name))
  })
  warnings.push(...withNames('symbolic refs to missing refs are not exported', dangling))
  const lfsCount = repositories.reduce((sum, { lfsObjects }) => sum + lfsObjects.length, 0)
  if (lfsCount > 0)
    warnings.push(
      `GitHub's importers do not take LFS objects: push ${formatCount(lfsCount, 'LFS object')} after the import`,
    )
  for (const { preserved } of repositories)
    if (preserved.attributesProblem !== undefined)
      warnings.push(`${preserved.attributesProblem}: not exported`)
  return warnings
}
