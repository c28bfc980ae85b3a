import type { Git } from '../../../git/git.ts'
import type { Examination, Found } from './examine.ts'
import { headsOf } from './examine-refs.ts'
import { findPointers, type LfsPointer } from './lfs-pointers.ts'
import { lfsWarning } from './lfs-warning.ts'
import type { ScratchRepository } from './snapshot-scratch.ts'
import { byName } from './snapshot-troubles.ts'

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
export function warningOfSnapshot(
  { examination, repository, wiki }: Taken,
  parts: Parts,
): Promise<string | null> {
  return warningOf([
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
export function warningOfExamination(
  { repository, wiki }: Examination,
  parts: Parts,
): Promise<string | null> {
  const inSource = (found: Found) => pointersOf(found, found.dir, parts)
  return warningOf([
    [repository, inSource],
    [wiki, inSource],
  ])
}

async function warningOf(
  parts: [found: Found | null, look: (found: Found) => Promise<LfsPointer[]>][],
): Promise<string | null> {
  const seen = []
  for (const [found, look] of parts) {
    if (!found) continue
    const pointers = found.lfsPointers ?? (await look(found))
    seen.push({ pointers, objects: found.lfsObjects })
  }
  return lfsWarning(seen)
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
