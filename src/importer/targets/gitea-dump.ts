import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Folder } from '../../archive/read-folder.ts'
import { ArchiveRefused } from '../../archive/unreadable-archive.ts'
import type { Bytes } from '../../blobs/blob-store.ts'
import type { Git } from '../../git/git.ts'
import { GitFailed } from '../../git/git-end.ts'
import { sortedRows } from '../../lib/sorted-rows.ts'
import type { Snapshot } from '../../sources/snapshot.ts'
import {
  checkRepositories,
  missingLfs,
  readManifest,
  skippedRepositories,
} from '../check-repositories.ts'
import { storedDigests } from '../compare-manifest.ts'
import { moveBelow, moveTo, sync, syncBelow } from '../install-repository.ts'
import type { PeopleMap } from '../people.ts'
import { refuseEdited, refuseExisting, repositoryFolders } from '../restore-archive.ts'
import type { Unpacked } from '../unpack-archive.ts'
import { sweepWorkDirectories, unpackBeside } from '../unpack-archive.ts'
import { chooseRepositories, type Destinations } from './gitea/choose-repositories.ts'
import type { DumpContext } from './gitea/dump-context.ts'
import { dumpContexts } from './gitea/dump-context.ts'
import { dumpAttachments, dumpReleases } from './gitea/dump-files.ts'
import { dumpComments, dumpIssues } from './gitea/dump-issues.ts'
import { dumpPulls } from './gitea/dump-pulls.ts'
import { dumpSettings, placeGit, placeWiki } from './gitea/dump-repository.ts'
import { type Dumped, restoreScript } from './gitea/restore-script.ts'
import { spoolFacts } from './gitea/spool-facts.ts'
import { createTally } from './gitea/tally.ts'

export { accountRefusal } from './gitea/choose-repositories.ts'

export interface DumpParts {
  git: Git
  /** The archive from its beginning; it is read twice. */
  open(): Bytes | Folder
  /** Dumps go to OWNER/NAME in it, and restore.sh. */
  into: string
  /** `OWNER/NAME` of those that are wanted; all where none is named. */
  repositories: readonly string[]
  people: PeopleMap
  keepLinks: boolean
  /** The server's own address, with a slash at its end; empty where it was not said. */
  target: string
  tell(news: DumpEvents): void
}

export type DumpEvents =
  | { warning: string }
  /** Files of issues and comments that the server does not take by itself. */
  | { attachments: number; directory: string }
  /** What the archive holds and a dump has no place for, by kind. */
  | { leftBehind: [kind: string, count: number][] }

export type DumpEnd = { fullName: string; faults: string[]; isPrivate: boolean }

const SCRIPT = 'restore.sh'

/**
 * Writes every repository of an archive as a directory that `restore-repo` of Gitea and Forgejo takes, each whole or not at
 * all, and the script that hands them over. Nothing is written before the archive has been read to its end, every name was
 * found to be one that the server takes, and every place to be free.
 */
export async function* dumpForGitea(
  parts: DumpParts,
  signal: AbortSignal,
): AsyncGenerator<DumpEnd> {
  const { open, into, people } = parts
  await sweepWorkDirectories(into)
  const folders = await repositoryFolders(open(), into, signal)
  const destinations = chooseRepositories(folders, parts.repositories, people)
  await refuseExisting(into, new Set([...destinations.values()].map(({ fullName }) => fullName)))
  if (existsSync(join(into, SCRIPT)))
    throw new ArchiveRefused(`${join(into, SCRIPT)} is there already; name another directory`)
  await using workplace = await unpackBeside(into, open(), signal)
  const { path, unpacked } = workplace
  const dumped: Dumped[] = []
  yield* dumpUnpacked(parts, { workplace: path, unpacked, destinations, dumped }, signal)
  await placeScript(path, into, dumped)
}

interface Work {
  workplace: string
  unpacked: Unpacked
  destinations: Destinations
  /** Filled with what is done. */
  dumped: Dumped[]
}

async function* dumpUnpacked(
  parts: DumpParts,
  { workplace, unpacked, destinations, dumped }: Work,
  signal: AbortSignal,
): AsyncGenerator<DumpEnd> {
  const { git, into, tell } = parts
  const { root } = unpacked
  const manifest = await readManifest(root)
  if (manifest) await refuseEdited(root, manifest)
  const tally = createTally((warning) => tell({ warning }))
  const isSelection = parts.repositories.length > 0
  if (manifest && !isSelection)
    for (const each of skippedRepositories(manifest)) tally.warn('skipped repositories', each)
  using rows = sortedRows(join(workplace, 'rows'))
  const spool = await spoolFacts({ root, rows, destinations, isSelection, tally }, signal)
  const stored = { root, digests: manifest && storedDigests(manifest) }
  const contextOf = dumpContexts(parts, { spool, destinations, stored, workplace, tally })
  const proving = {
    git,
    scratch: workplace,
    isWanted: (name: string) => destinations.has(name.toLowerCase()),
  }
  for await (const judged of checkRepositories(unpacked, manifest, proving, signal)) {
    const { fullName } = judged
    const destination = destinations.get(fullName.toLowerCase())
    if (!destination || 'faults' in judged) {
      yield { fullName, faults: 'faults' in judged ? judged.faults : [], isPrivate: true }
      continue
    }
    for (const each of await missingLfs(fullName, judged.snapshot, manifest))
      tally.warn('LFS objects', each)
    const { context, address } = contextOf(destination)
    const place = join(into, fullName)
    const attachments = await dumpWhole(
      context,
      judged.snapshot,
      { place, address, target: parts.target },
      signal,
    ).catch((error: unknown) => faultOf(error, signal))
    if (typeof attachments === 'string') {
      yield { fullName, faults: [attachments], isPrivate: true }
      continue
    }
    if (attachments > 0) tell({ attachments, directory: join(place, 'attachments') })
    const isPrivate = context.repository.private
    dumped.push({
      directory: fullName,
      owner: destination.owner,
      name: destination.name,
      isPrivate,
    })
    yield { fullName, faults: [], isPrivate }
  }
  tally.endWarnings()
  tell({ leftBehind: tally.skipped() })
}

/** What git fails at is in one repository; whatever else fails would fail at the next as well. */
function faultOf(error: unknown, signal: AbortSignal): string {
  signal.throwIfAborted()
  if (error instanceof GitFailed) return error.message
  throw error
}

/** Last of all: where the script is, everything that it names is. */
async function placeScript(workplace: string, into: string, dumped: readonly Dumped[]) {
  if (dumped.length === 0) return
  const file = join(workplace, SCRIPT)
  await writeFile(file, restoreScript(dumped), { mode: 0o755 })
  await sync(file)
  await rename(file, join(into, SCRIPT))
  await sync(into)
}

interface DumpPlace {
  /** Where the dump is to be when it is whole. */
  place: string
  /** Where the repository was. */
  address: string
  target: string
}

/** Makes the dump of a proven repository, and moves it to its place when all of it is durable. Answers how many attachments it has. */
async function dumpWhole(
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
  await moveBelow(dirname(place), () => moveTo(context.place, place))
  return attachments
}
