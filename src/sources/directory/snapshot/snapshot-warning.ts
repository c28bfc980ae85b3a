import type { Git } from '../../../git/git.ts'
import { readable } from '../../refs.ts'
import type { Examination, Found, LfsPointer, ObjectFile, SnapshotReport } from '../../snapshot.ts'
import { headsOf } from '../files/read-refs.ts'
import { orDamaged } from '../files/repository-errors.ts'
import { refuseSpecialFiles } from '../files/special-files.ts'
import { findPointers } from './lfs-pointers.ts'
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

/** Git is asked only where the bytes that were read leave a doubt. */
export function reportOfSnapshot(
  { examination, repository, wiki }: Taken,
  parts: Parts,
): Promise<SnapshotReport> {
  return report(examination, async (found) => {
    const taken = found === examination.wiki ? wiki : repository
    return taken?.pointerWatch.mayHavePointers ? pointersOf(found, taken.dir, parts) : []
  })
}

/** The same before there is a snapshot; starts git for each that was not looked at before. */
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
  pointersIn: (found: Found) => Promise<LfsPointer[]>,
): Promise<SnapshotReport> {
  const seen: LookedFor[] = []
  for (const found of [examination.repository, examination.wiki])
    if (found) {
      const pointers = found.lfsPointers ?? (await pointersIn(found))
      seen.push({ pointers, objects: found.lfsObjects })
    }
  const { missing, told } = lfsReport(seen)
  const all = [...told, ...importerRefusals(examination)]
  return { missingLfs: missing, warning: all.length === 0 ? null : all.join('; ') }
}

function pointersOf(found: Found, dir: string, { git, signal }: Parts): Promise<LfsPointer[]> {
  const find = () => findPointers(git, dir, headsOf(found), signal)
  return orDamaged({ name: found.name, dir }, signal, find)
}

const MAX_NAMED = 3

interface LookedFor {
  pointers: readonly LfsPointer[]
  objects: readonly ObjectFile[]
}

/** What is to be told of pointers without their objects: the host's own clients cannot fetch those either. */
function lfsReport(parts: readonly LookedFor[]): { missing: LfsPointer[]; told: string[] } {
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
    told,
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
