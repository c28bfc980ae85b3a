import type { Git } from '../../../git/git.ts'
import type { Examination, Found } from './examine.ts'
import type { ObjectFile } from './examine-objects.ts'
import { headsOf, readable } from './examine-refs.ts'
import { findPointers, type LfsPointer } from './lfs-pointers.ts'
import { byName } from './snapshot-errors.ts'
import type { ScratchRepository } from './snapshot-scratch.ts'

interface Parts {
  git: Git
  signal: AbortSignal
}

interface Taken {
  examination: Examination
  repository: ScratchRepository
  wiki: ScratchRepository | null
}

export interface SnapshotReport {
  missingLfs: LfsReport['missing']
  /** All that is to be told, in a line; null where there is nothing. */
  warning: string | null
}

export async function reportOfSnapshot(taken: Taken, parts: Parts): Promise<SnapshotReport> {
  const { missing, warning } = await lfsReportOfSnapshot(taken, parts)
  return { missingLfs: missing, warning: inALine(warning, taken.examination) }
}

/** The same before there is a snapshot; starts git for each that was not looked at before. */
export async function warningOfExamination(
  examination: Examination,
  parts: Parts,
): Promise<string | null> {
  return inALine(await lfsWarningOfExamination(examination, parts), examination)
}

function inALine(warning: string | null, examination: Examination): string | null {
  const told = [...(warning === null ? [] : [warning]), ...importerRefusals(examination)]
  return told.length === 0 ? null : told.join('; ')
}

/** Git is asked only where the bytes that were read leave a doubt. */
export function lfsReportOfSnapshot(
  { examination, repository, wiki }: Taken,
  parts: Parts,
): Promise<LfsReport> {
  return reportOf([
    [
      examination.repository,
      async (found) =>
        repository.pointerWatch.mayHavePointers ? pointersOf(found, repository.dir, parts) : [],
    ],
    [
      examination.wiki,
      async (found) =>
        wiki?.pointerWatch.mayHavePointers ? pointersOf(found, wiki.dir, parts) : [],
    ],
  ])
}

export async function lfsWarningOfExamination(
  { repository, wiki }: Examination,
  parts: Parts,
): Promise<string | null> {
  const inSource = (found: Found) => pointersOf(found, found.dir, parts)
  const { warning } = await reportOf([
    [repository, inSource],
    [wiki, inSource],
  ])
  return warning
}

async function reportOf(
  parts: [found: Found | null, look: (found: Found) => Promise<LfsPointer[]>][],
): Promise<LfsReport> {
  const seen = []
  for (const [found, look] of parts) {
    if (!found) continue
    const pointers = found.lfsPointers ?? (await look(found))
    seen.push({ pointers, objects: found.lfsObjects })
  }
  return lfsReport(seen)
}

async function pointersOf(
  found: Found,
  dir: string,
  { git, signal }: Parts,
): Promise<LfsPointer[]> {
  try {
    return await findPointers(git, dir, headsOf(found), signal)
  } catch (error) {
    signal.throwIfAborted()
    throw byName(found.name, error, dir)
  }
}

const MAX_NAMED = 3

/** What is to be told of pointers without their objects: the host's own clients cannot fetch those either. */
interface LfsReport {
  /** As their pointers name them, in the order of their oids. */
  missing: LfsPointer[]
  /** In a line; null where there is nothing to tell. */
  warning: string | null
}

function lfsReport(
  parts: readonly { pointers: readonly LfsPointer[]; objects: readonly ObjectFile[] }[],
): LfsReport {
  const missing = new Map<string, LfsPointer>()
  const otherSize = new Set<string>()
  for (const { pointers, objects } of parts) {
    const sizes = new Map(objects.map(({ path, size }) => [path.split('/').at(-1), size]))
    for (const pointer of pointers) {
      const { oid, size } = pointer
      const there = sizes.get(oid)
      if (there === undefined) missing.set(oid, pointer)
      else if (there !== size) otherSize.add(oid)
    }
  }
  const told = [
    tell(missing.keys(), 'LFS object is missing', 'LFS objects are missing'),
    tell(
      otherSize.keys(),
      'LFS object differs in size from its pointer',
      'LFS objects differ in size from their pointers',
    ),
  ].filter((text) => text !== undefined)
  return {
    missing: [...missing.values()].sort((a, b) => (a.oid < b.oid ? -1 : 1)),
    warning: told.length === 0 ? null : told.join('; '),
  }
}

function tell(those: Iterable<string>, one: string, many: string): string | undefined {
  const oids = [...those]
  if (oids.length === 0) return undefined
  return `${oids.length} ${oids.length === 1 ? one : many}: ${firstOf(oids)}`
}

function firstOf(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? ` and ${names.length - MAX_NAMED} more` : ''
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`
}

/** GitHub takes such a name for that of an object. */
const LIKE_AN_OBJECT = /^refs\/(?:heads|tags)\/([0-9a-f]{40})$/i

/**
 * What GitHub's importers would not take of a repository that can be exported, and what is not exported of it, each in a
 * line. From the examination alone, so that an export and a preflight say the same.
 */
function importerRefusals({ repository, wiki }: Examination): string[] {
  const parts = wiki ? [repository, wiki] : [repository]
  return [
    ...(parts.some(({ objectFormat }) => objectFormat === 'sha256')
      ? ["GitHub's importers do not take repositories with SHA-256 objects"]
      : []),
    ...hexNames(parts),
    ...lfsObjects(parts),
    ...parts.flatMap(({ kept }) =>
      kept.attributesProblem === undefined ? [] : [`${kept.attributesProblem}: not exported`],
    ),
  ]
}

function hexNames(parts: readonly Found[]): string[] {
  const names = parts.flatMap(({ refs }) =>
    refs.flatMap(({ name }) => (LIKE_AN_OBJECT.test(name) ? [readable(name)] : [])),
  )
  if (names.length === 0) return []
  return [`GitHub's importers refuse names of 40 hex digits: ${firstOf(names)}`]
}

function lfsObjects(parts: readonly Found[]): string[] {
  const count = parts.reduce((sum, { lfsObjects: objects }) => sum + objects.length, 0)
  if (count === 0) return []
  const what = count === 1 ? '1 LFS object' : `${count} LFS objects`
  return [`GitHub's importers do not take LFS objects: push ${what} after the import`]
}
