import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Snapshot } from '../../../sources/source.ts'
import { moveTo, removeIfEmpty, sync, syncBelow } from '../../place-repository.ts'
import { dumpAttachments } from './dump-attachments.ts'
import type { DumpContext } from './dump-context.ts'
import { dumpComments, dumpIssues } from './dump-issues.ts'
import { dumpPulls } from './dump-pulls.ts'
import { dumpReleases } from './dump-releases.ts'
import { dumpSettings, placeGit, placeWiki } from './dump-repository.ts'

export interface DumpPlace {
  /** Where the dump is to be when it is whole. */
  place: string
  /** Where the repository was. */
  address: string
  target: string
}

/** Makes the dump of a proven repository, and moves it to its place when all of it is durable. Answers how many attachments it has. */
export async function dumpWhole(
  context: DumpContext,
  { repository, wiki, examination }: Snapshot,
  { place, address, target }: DumpPlace,
  signal: AbortSignal,
): Promise<number> {
  const { tally, repository: fact } = context
  await mkdir(context.place, { recursive: true })
  const refs = await placeGit(context, repository.dir, signal)
  if (wiki) await placeWiki(context, wiki.dir, signal)
  await dumpSettings(context, address, target)
  dumpIssues(context, signal)
  dumpComments(context, signal)
  await dumpPulls(context, refs, signal)
  await dumpReleases(context, refs, signal)
  const attachments = await dumpAttachments(context, signal)
  tally.skip('LFS_objects', examination.repository.lfsObjects.length)
  tally.skip('collaborators', fact.collaborators.length)
  await syncBelow(context.place)
  const owner = dirname(place)
  await mkdir(owner, { recursive: true })
  try {
    await moveTo(context.place, place)
  } finally {
    await removeIfEmpty(owner)
  }
  for (const folder of [owner, dirname(owner)]) await sync(folder)
  return attachments
}
