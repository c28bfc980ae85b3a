import type { Git } from '../../../git/git.ts'
import type { Examination, Found } from './examine.ts'
import { headsOf } from './examine-refs.ts'
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

/** Git is asked only where the bytes that were read leave a doubt. */
export function reportOfSnapshot(
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

/** The same before there is a snapshot; starts git for each that was not looked at before. */
export async function warningOfExamination(
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
