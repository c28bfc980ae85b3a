import { existsSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { ArchiveRefused } from '../../archive/unreadable-archive.ts'
import { formatRecordCount } from '../../lib/losses.ts'
import { formatCount } from '../../lib/quantities.ts'
import { sortedRows } from '../../lib/sorted-rows.ts'
import type { Snapshot } from '../../sources/snapshot.ts'
import { type Conversion, type FormatWriter, writeRepositories } from '../format.ts'
import { moveDurably, moveTo, refuseExisting, sync, syncTree } from '../output.ts'
import type { PeopleMap } from '../people.ts'
import { chooseDestinations, type Destinations } from './choose-destinations.ts'
import {
  contextFactory,
  type DumpContext,
  type GiteaDumpOptions,
  readSpool,
} from './dump-context.ts'
import { dumpComments, dumpIssues, dumpPulls } from './dump-issues-and-pulls.ts'
import { dumpReleases, dumpSettings, moveGit, moveWiki } from './dump-repository.ts'
import { dumpFinishFacts } from './finish-facts.ts'
import { type Dumped, restoreScript } from './restore-script.ts'

const SCRIPT = 'restore.sh'

/**
 * Writes every repository as a directory for `restore-repo` of Gitea and Forgejo, each completely or not at all, and a script that
 * restores them. Before anything is written, it checks that Gitea and Forgejo accept every name and that no output exists.
 */
export function giteaDumpWriter(options: GiteaDumpOptions): FormatWriter {
  return { mapsPeople: true, write: (conversion) => writeDumps(options, conversion) }
}

async function* writeDumps(options: GiteaDumpOptions, conversion: Conversion) {
  const { into, people, workDirectory } = options
  const { content, report } = conversion
  const destinations = chooseDestinations(content.fullNames, people)
  await refuseExisting(into, new Set(content.fullNames))
  if (existsSync(join(into, SCRIPT)))
    throw new ArchiveRefused(`${join(into, SCRIPT)} already exists; name another directory`)
  using rows = sortedRows(join(workDirectory, 'rows'))
  const spool = await readSpool(conversion, rows)
  const createContext = contextFactory({ ...options, ...conversion, destinations, spool })
  const dumped: Dumped[] = []
  const unrestored = new Map<string, number>()
  yield* writeRepositories(conversion, async (fullName, { snapshot, missingLfs }) => {
    for (const line of await missingLfs()) report.warn('LFS objects', line)
    const destination = destinations.get(fullName.toLowerCase())!
    const context = createContext(destination)
    const output = join(into, fullName)
    const counts = await writeDump(context, snapshot, { people, destinations })
    await syncTree(context.directory)
    await moveDurably(dirname(output), () => moveTo(context.directory, output))
    for (const [kind, count] of counts) unrestored.set(kind, (unrestored.get(kind) ?? 0) + count)
    dumped.push({ ...destination, isPrivate: context.repository.private })
  })
  if (dumped.length === 0) return
  await writeScript(workDirectory, into, dumped)
  report.notes.push(`next: run ${join(into, SCRIPT)} on the server`)
  if (unrestored.size > 0)
    report.notes.push(
      `then: run godwit finish ${into}, because restore-repo does not restore ${Array.from(unrestored, ([kind, count]) => formatRecordCount(kind, count)).join(', ')}`,
    )
  const privates = dumped.filter(({ isPrivate }) => isPrivate).length
  if (privates > 0)
    report.notes.push(
      `${formatCount(privates, 'private repository', 'private repositories')}: restore-repo would make ${privates === 1 ? 'it' : 'them'} public; the first lines of ${SCRIPT} say how to prevent that`,
    )
}

/** Writes the dump of a verified repository. Returns how many things of each kind `restore-repo` does not restore. */
async function writeDump(
  context: DumpContext,
  { repository, wiki, examination }: Snapshot,
  mappings: { people: PeopleMap; destinations: Destinations },
): Promise<Map<string, number>> {
  await mkdir(context.directory, { recursive: true })
  const refs = await moveGit(context, repository.dir)
  if (wiki) await moveWiki(context, wiki.dir)
  await dumpSettings(context)
  dumpIssues(context)
  dumpComments(context)
  await dumpPulls(context, refs)
  await dumpReleases(context, refs)
  const { lfsObjects } = examination.repository
  return await dumpFinishFacts(context, { ...mappings, lfsObjects })
}

/** Writes the script last, so that everything it names exists. */
async function writeScript(workDirectory: string, into: string, dumped: readonly Dumped[]) {
  const file = join(workDirectory, SCRIPT)
  await writeFile(file, restoreScript(dumped), { mode: 0o755 })
  await sync(file)
  await rename(file, join(into, SCRIPT))
  await sync(into)
}
