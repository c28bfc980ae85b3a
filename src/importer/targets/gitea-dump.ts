import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Folder } from '../../archive/read-folder.ts'
import { ArchiveRefused } from '../../archive/unreadable-archive.ts'
import type { Bytes } from '../../blobs/blob-store.ts'
import type { Git } from '../../git/git.ts'
import { GitFailed } from '../../git/git-process.ts'
import { sortedRows } from '../../lib/sorted-rows.ts'
import type { Snapshot } from '../../sources/snapshot.ts'
import {
  checkRepositories,
  describeMissingLfs,
  describeSkipped,
  readManifest,
} from '../check-repositories.ts'
import { uploadDigests } from '../compare-manifest.ts'
import { moveDurably, moveTo, sync, syncTree } from '../install-repository.ts'
import type { PeopleMap } from '../people.ts'
import { refuseEdited, refuseExisting, repositoryFolders } from '../restore-archive.ts'
import {
  sweepWorkDirectories,
  unpackToWorkDirectory,
  type WorkDirectory,
} from '../unpack-archive.ts'
import { chooseRepositories, type Destinations } from './gitea/choose-repositories.ts'
import { contextFactory, type DumpContext } from './gitea/dump-context.ts'
import { dumpAttachments, dumpReleases } from './gitea/dump-files.ts'
import { dumpComments, dumpIssues } from './gitea/dump-issues.ts'
import { dumpPulls } from './gitea/dump-pulls.ts'
import { DumpReport } from './gitea/dump-report.ts'
import { dumpSettings, moveGit, moveWiki } from './gitea/dump-repository.ts'
import { type Dumped, restoreScript } from './gitea/restore-script.ts'
import { spoolFacts } from './gitea/spool-facts.ts'

export { accountRefusal } from './gitea/choose-repositories.ts'

export interface DumpParts {
  git: Git
  /** Opens the archive from its beginning. It is called twice. */
  open(): Bytes | Folder
  /** Dumps are written to OWNER/NAME in this directory, and restore.sh beside them. */
  into: string
  /** `OWNER/NAME` of the repositories to dump. If empty, all are dumped. */
  repositories: readonly string[]
  people: PeopleMap
  keepLinks: boolean
  /** The URL of the server with a trailing slash, or empty if it is not known. */
  target: string
  onEvent(event: DumpEvent): void
}

export type DumpEvent =
  | { warning: string }
  /** How many files of issues and comments were written to the directory. The server does not import them. */
  | { attachments: number; directory: string }
  /** Objects of the archive that a dump cannot contain, by kind. */
  | { leftBehind: [kind: string, count: number][] }

export type DumpResult = { fullName: string; errors: string[]; isPrivate: boolean }

const SCRIPT = 'restore.sh'

/**
 * Writes every repository of an archive as a directory for `restore-repo` of Gitea and Forgejo, each completely or not at all, and a
 * script that restores them. Nothing is written before the whole archive was read, the server was found to accept every name, and
 * every target was found to be free.
 */
export async function* dumpForGitea(
  parts: DumpParts,
  signal: AbortSignal,
): AsyncGenerator<DumpResult> {
  const { open, into, people } = parts
  await sweepWorkDirectories(into)
  const folders = await repositoryFolders(open(), into, signal)
  const destinations = chooseRepositories(folders, parts.repositories, people)
  await refuseExisting(into, new Set([...destinations.values()].map(({ fullName }) => fullName)))
  if (existsSync(join(into, SCRIPT)))
    throw new ArchiveRefused(`${join(into, SCRIPT)} already exists; name another directory`)
  await using work = await unpackToWorkDirectory(into, open(), signal)
  const dumped: Dumped[] = []
  for await (const end of dumpUnpacked(parts, work, destinations, signal)) {
    if (end.errors.length === 0) {
      const { fullName, owner, name } = destinations.get(end.fullName.toLowerCase())!
      dumped.push({ directory: fullName, owner, name, isPrivate: end.isPrivate })
    }
    yield end
  }
  await writeScript(work.path, into, dumped)
}

async function* dumpUnpacked(
  parts: DumpParts,
  { path, unpacked }: WorkDirectory,
  destinations: Destinations,
  signal: AbortSignal,
): AsyncGenerator<DumpResult> {
  const { git, into } = parts
  const { root } = unpacked
  const manifest = await readManifest(root)
  if (manifest) await refuseEdited(root, manifest)
  const report = new DumpReport((warning) => parts.onEvent({ warning }))
  const isSelection = parts.repositories.length > 0
  if (manifest && !isSelection)
    for (const each of describeSkipped(manifest)) report.warn('skipped repositories', each)
  using rows = sortedRows(join(path, 'rows'))
  const spool = await spoolFacts({ root, rows, destinations, isSelection, report }, signal)
  const uploads = { root, digests: manifest && uploadDigests(manifest) }
  const createContext = contextFactory({ ...parts, spool, uploads, workDirectory: path, report })
  const isWanted = (name: string) => destinations.has(name.toLowerCase())
  const options = { git, scratch: path, isWanted }
  for await (const checked of checkRepositories(unpacked, manifest, options, signal)) {
    const { fullName } = checked
    if ('errors' in checked) {
      yield { fullName, errors: checked.errors, isPrivate: true }
      continue
    }
    for (const each of await describeMissingLfs(fullName, checked.snapshot, manifest))
      report.warn('LFS objects', each)
    const context = createContext(destinations.get(fullName.toLowerCase())!)
    const target = join(into, fullName)
    try {
      const attachments = await writeDump(context, checked.snapshot, signal)
      await syncTree(context.directory)
      await moveDurably(dirname(target), () => moveTo(context.directory, target))
      if (attachments > 0) parts.onEvent({ attachments, directory: join(target, 'attachments') })
    } catch (error) {
      signal.throwIfAborted()
      // An error of git concerns one repository. Any other would occur for the next one too.
      if (!(error instanceof GitFailed)) throw error
      yield { fullName, errors: [error.message], isPrivate: true }
      continue
    }
    yield { fullName, errors: [], isPrivate: context.repository.private }
  }
  parts.onEvent({ leftBehind: report.end() })
}

/** Writes the dump of a verified repository and returns how many attachments it has. */
async function writeDump(
  context: DumpContext,
  { repository, wiki, examination }: Snapshot,
  signal: AbortSignal,
): Promise<number> {
  await mkdir(context.directory, { recursive: true })
  const refs = await moveGit(context, repository.dir, signal)
  if (wiki) await moveWiki(context, wiki.dir, signal)
  await dumpSettings(context)
  dumpIssues(context, signal)
  dumpComments(context, signal)
  await dumpPulls(context, refs, signal)
  await dumpReleases(context, refs, signal)
  const attachments = await dumpAttachments(context, signal)
  context.report.skip('LFS_objects', examination.repository.lfsObjects.length)
  context.report.skip('collaborators', context.repository.collaborators.length)
  return attachments
}

/** Writes the script last, so that everything it names exists. */
async function writeScript(workDirectory: string, into: string, dumped: readonly Dumped[]) {
  if (dumped.length === 0) return
  const file = join(workDirectory, SCRIPT)
  await writeFile(file, restoreScript(dumped), { mode: 0o755 })
  await sync(file)
  await rename(file, join(into, SCRIPT))
  await sync(into)
}
