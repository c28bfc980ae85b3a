import type { Git } from '../../../git/git.ts'
import type { Examination, Found } from './examine.ts'
import { headsOf } from './examine-refs.ts'
import { importerRefusals } from './importer-refusals.ts'
import { findPointers, type LfsPointer } from './lfs-pointers.ts'
import { type LfsReport, lfsReport } from './lfs-warning.ts'
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
