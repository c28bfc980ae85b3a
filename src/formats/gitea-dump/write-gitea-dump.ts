import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ArchiveRefused } from '../../archive/unreadable-archive.ts'
import type { Git } from '../../git/git.ts'
import { GitFailed } from '../../git/git-process.ts'
import { formatRecordCount } from '../../lib/losses.ts'
import { formatCount } from '../../lib/quantities.ts'
import { sortedRows } from '../../lib/sorted-rows.ts'
import type { Snapshot } from '../../sources/snapshot.ts'
import type { FormatReader, FormatWriter, Written } from '../format.ts'
import { moveDurably, moveTo, refuseExisting, sync, syncTree } from '../output.ts'
import type { PeopleMap } from '../people.ts'
import type { Report } from '../report.ts'
import { chooseDestinations, type Destinations } from './choose-destinations.ts'
import { contextFactory, type DumpContext } from './dump-context.ts'
import { dumpReleases } from './dump-files.ts'
import { dumpComments, dumpIssues } from './dump-issues.ts'
import { dumpPulls } from './dump-pulls.ts'
import { dumpSettings, moveGit, moveWiki } from './dump-repository.ts'
import { dumpFinishFacts } from './finish-facts.ts'
import { type Dumped, restoreScript } from './restore-script.ts'
import { spoolFacts } from './spool-facts.ts'

export interface GiteaDumpOptions {
  git: Git
  /** Dumps are written to OWNER/NAME in this directory, and restore.sh beside them. */
  into: string
  /** A directory on the file system of `into`, which the caller removes. */
  workDirectory: string
  people: PeopleMap
  keepLinks: boolean
  /** The URL of the server with a trailing slash, or empty if it is not known. */
  target: string
}

const SCRIPT = 'restore.sh'

/**
 * Writes every repository as a directory for `restore-repo` of Gitea and Forgejo, each completely or not at all, and a script that
 * restores them. Before anything is written, it checks that Gitea and Forgejo accept every name and that no output exists.
 */
export function giteaDumpWriter(options: GiteaDumpOptions): FormatWriter {
  return {
    mapsPeople: true,
    write: (content, report, signal) => writeDumps(options, content, report, signal),
  }
}

async function* writeDumps(
  options: GiteaDumpOptions,
  content: FormatReader,
  report: Report,
  signal: AbortSignal,
): AsyncGenerator<Written> {
  const { into, people, workDirectory } = options
  const destinations = chooseDestinations(content.fullNames, people)
  await refuseExisting(into, new Set(content.fullNames))
  if (existsSync(join(into, SCRIPT)))
    throw new ArchiveRefused(`${join(into, SCRIPT)} already exists; name another directory`)
  using rows = sortedRows(join(workDirectory, 'rows'))
  const spool = await spoolFacts({ content, rows, destinations, report }, signal)
  const createContext = contextFactory({ ...options, spool, report })
  const dumped: Dumped[] = []
  const unrestored = new Map<string, number>()
  for await (const each of content.repositories(signal)) {
    const { fullName } = each
    if ('errors' in each) {
      yield each
      continue
    }
    for (const line of each.missingLfs) report.warn('LFS objects', line)
    const destination = destinations.get(fullName.toLowerCase())!
    const context = createContext(destination)
    const output = join(into, fullName)
    try {
      const counts = await writeDump(context, each.snapshot, { people, destinations }, signal)
      await syncTree(context.directory)
      await moveDurably(dirname(output), () => moveTo(context.directory, output))
      for (const [kind, count] of counts) unrestored.set(kind, (unrestored.get(kind) ?? 0) + count)
    } catch (error) {
      signal.throwIfAborted()
      // An error of git concerns one repository. Any other would occur for the next one too.
      if (!(error instanceof GitFailed)) throw error
      yield { fullName, errors: [error.message] }
      continue
    }
    dumped.push({ ...destination, isPrivate: context.repository.private })
    yield { fullName, errors: [] }
  }
  if (dumped.length === 0) return
  await writeScript(workDirectory, into, dumped)
  report.note(`next: run ${join(into, SCRIPT)} on the server`)
  if (unrestored.size > 0)
    report.note(
      `then: run godwit finish ${into}, because restore-repo does not restore ${Array.from(unrestored, ([kind, count]) => formatRecordCount(kind, count)).join(', ')}`,
    )
  const privates = dumped.filter(({ isPrivate }) => isPrivate).length
  if (privates > 0)
    report.note(
      `${formatCount(privates, 'private repository', 'private repositories')}: restore-repo would make ${privates === 1 ? 'it' : 'them'} public; the first lines of ${SCRIPT} say how to prevent that`,
    )
}

/** Writes the dump of a verified repository. Returns how many things of each kind `restore-repo` does not restore. */
async function writeDump(
  context: DumpContext,
  { repository, wiki, examination }: Snapshot,
  mappings: { people: PeopleMap; destinations: Destinations },
  signal: AbortSignal,
): Promise<Map<string, number>> {
  await mkdir(context.directory, { recursive: true })
  const refs = await moveGit(context, repository.dir, signal)
  if (wiki) await moveWiki(context, wiki.dir, signal)
  await dumpSettings(context)
  dumpIssues(context, signal)
  dumpComments(context, signal)
  await dumpPulls(context, refs, signal)
  await dumpReleases(context, refs, signal)
  const { lfsObjects } = examination.repository
  return await dumpFinishFacts(context, { ...mappings, lfsObjects }, signal)
}

/** Writes the script last, so that everything it names exists. */
async function writeScript(workDirectory: string, into: string, dumped: readonly Dumped[]) {
  const file = join(workDirectory, SCRIPT)
  await writeFile(file, restoreScript(dumped), { mode: 0o755 })
  await sync(file)
  await rename(file, join(into, SCRIPT))
  await sync(into)
}
