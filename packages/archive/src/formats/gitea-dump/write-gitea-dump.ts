import { existsSync } from 'node:fs'
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type OidsByRef, readOidsByRef, setHead } from '@godwit/git/commits-and-refs'
import type { Snapshot } from '@godwit/git/snapshot'
import { formatRecordCount } from '@godwit/lib/findings'
import { formatCount } from '@godwit/lib/quantities'
import { sortedRows } from '@godwit/lib/sorted-rows'
import { oneLine } from '@godwit/lib/terminal-text'
import { UserError } from '@godwit/lib/user-error'
import type { Release } from '../../records/release.ts'
import {
  type Conversion,
  type FormatWriter,
  reportDetachedHead,
  writeRepositories,
} from '../format.ts'
import {
  linkOrCopy,
  moveDurably,
  moveTo,
  refuseExisting,
  sync,
  syncTree,
  urlName,
} from '../output.ts'
import { chooseDestinations } from './choose-destinations.ts'
import {
  contextFactory,
  type DumpContext,
  type GiteaDumpOptions,
  readSiteRows,
} from './dump-context.ts'
import { dumpComments, dumpIssues, dumpPulls } from './dump-issues-and-pulls.ts'
import { dumpFinishRecords } from './finish-records.ts'
import { type Dumped, restoreScript } from './restore-script.ts'
import { YamlList, yamlJson, yamlTime, yamlTimeOrNull } from './yaml-json.ts'

const SCRIPT = 'restore.sh'

/**
 * Writes every repository as a directory for `restore-repo` of Gitea and Forgejo, each completely or not at all, and a script that
 * restores them. Before anything is written, it checks that Gitea and Forgejo accept every name and that no output exists.
 */
export function giteaDumpWriter(options: GiteaDumpOptions): FormatWriter {
  const script = join(options.into, SCRIPT)
  if (existsSync(script)) throw new UserError(`${script} already exists; name another directory`)
  return { mapsPeople: true, write: (conversion) => writeDumps(options, conversion) }
}

async function* writeDumps(options: GiteaDumpOptions, conversion: Conversion) {
  const { into, people, workDirectory } = options
  const { content, report } = conversion
  const destinations = chooseDestinations(content.fullNames, people)
  await refuseExisting(into, new Set(content.fullNames))
  using rows = sortedRows(join(workDirectory, 'rows'))
  const dumpRows = await readSiteRows(conversion, rows)
  const createContext = contextFactory({ ...options, ...conversion, destinations, dumpRows })
  const dumped: Dumped[] = []
  const unrestored = new Map<string, number>()
  yield* writeRepositories(conversion, async (fullName, { snapshot, missingLfs }) => {
    for (const line of await missingLfs()) report.warn('LFS objects', line)
    const destination = destinations.get(fullName.toLowerCase())!
    const context = createContext(destination)
    const output = join(into, fullName)
    const counts = await writeDump(context, snapshot)
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
): Promise<Map<string, number>> {
  const { directory, git, signal } = context
  await mkdir(directory, { recursive: true })
  const dir = join(directory, 'git')
  await rename(repository.dir, dir)
  const refs = await readOidsByRef({ git, signal, dir })
  await reportDetachedHead({ git, signal, dir }, examination.repository.head, context)
  await setHead(dir, refs, context.repository.defaultBranch)
  if (wiki) await moveWiki(context, wiki.dir)
  await dumpSettings(context)
  dumpIssues(context)
  dumpComments(context)
  await dumpPulls(context, refs)
  await dumpReleases(context, refs)
  return await dumpFinishRecords(context, examination.repository.lfsObjects)
}

/** Writes the script last, so that everything it names exists. */
async function writeScript(workDirectory: string, into: string, dumped: readonly Dumped[]) {
  const file = join(workDirectory, SCRIPT)
  await writeFile(file, restoreScript(dumped), { mode: 0o755 })
  await sync(file)
  await rename(file, join(into, SCRIPT))
  await sync(into)
}

/** The server's numbers for the kind of host that a repository came from. */
const SERVICES = { github: '2', git: '1' }
const UNITS = ['wiki', 'issues', 'milestones', 'labels', 'releases', 'comments', 'pulls', 'assets']

/** Writes repo.yml, topic.yml, label.yml and milestone.yml. All values of repo.yml must be strings. */
async function dumpSettings(context: DumpContext): Promise<void> {
  const { directory, repository, owner, name, labels, oldUrl, forge } = context
  const isGitHub = /^https?:\/\/github\.com\//i.test(oldUrl)
  await writeFile(
    join(directory, 'repo.yml'),
    `${yamlJson({
      name,
      owner,
      description: oneLine(repository.description ?? ''),
      // The server finds accounts by id only if this begins with its own URL.
      original_url: forge === '' ? oldUrl : `${forge}?migrated-from=${encodeURIComponent(oldUrl)}`,
      clone_addr: oldUrl,
      default_branch: repository.defaultBranch ?? '',
      is_private: String(repository.private),
      service_type: isGitHub ? SERVICES.github : SERVICES.git,
      ...Object.fromEntries(UNITS.map((unit) => [unit, 'true'])),
    })}\n`,
  )
  const topics = (repository.topics ?? []).map((topic) => topic.name)
  // Versions of the server before 1.15.11 fail without this file.
  await writeFile(join(directory, 'topic.yml'), `${yamlJson({ topics })}\n`)
  using list = new YamlList(join(directory, 'label.yml'))
  const exclusive = new Set(repository.labels.flatMap((each) => (each.exclusive ? each.name : [])))
  for (const label of labels.values()) list.add({ ...label, exclusive: exclusive.has(label.name) })
  dumpMilestones(context)
}

function dumpMilestones({ directory, text, milestones, report }: DumpContext): void {
  // Newer versions restore them.
  report.addLoss('milestone creation times, on servers before 1.16', milestones.size)
  using list = new YamlList(join(directory, 'milestone.yml'))
  for (const milestone of milestones.values())
    list.add({
      title: milestone.title,
      description: text(milestone.description),
      deadline: yamlTimeOrNull(milestone.dueOn),
      created: yamlTime(milestone.createdAt),
      updated: yamlTime(milestone.updatedAt),
      closed: yamlTimeOrNull(milestone.closedAt),
      state: milestone.state,
    })
}

const MASTER = 'refs/heads/master'

/** Moves a wiki to wiki/. The server looks for it in `git.wiki.git`, and old versions show only a branch `master`. */
async function moveWiki(context: DumpContext, from: string): Promise<void> {
  const { directory, git, signal } = context
  const refs = await readOidsByRef({ git, signal, dir: from })
  const first = [...refs].find(([ref]) => ref.startsWith('refs/heads/'))
  // The server fails to restore a repository with an empty wiki.
  if (!first) return
  const dir = join(directory, 'wiki')
  await rename(from, dir)
  if (!refs.has(MASTER)) {
    const head = await git.text(['symbolic-ref', 'HEAD'], { dir, signal }).catch(() => '')
    const sha = refs.get(head.trim()) ?? first[1]
    await git.run(['update-ref', MASTER, sha], { dir, signal })
    await writeFile(join(dir, 'HEAD'), `ref: ${MASTER}\n`)
  }
  await symlink('wiki', join(directory, 'git.wiki.git'))
}

/** Writes release.yml and release_assets/. */
async function dumpReleases(context: DumpContext, refs: OidsByRef): Promise<void> {
  const { directory, records, report, fullName, signal } = context
  using list = new YamlList(join(directory, 'release.yml'))
  const takenTags = new Set<string>()
  for (const [index, release] of [...records.all('releases')].entries()) {
    signal.throwIfAborted()
    const assets = await dumpAssets(context, release, index + 1)
    const tag = chooseTag(context, release, refs, takenTags)
    // The server replaces the time of a release by that of the commit of its tag.
    report.addLoss('release_times', tag.draft ? 0 : 1, `${fullName}: ${tag.tag}`)
    list.add(dumpRelease(context, release, { ...tag, assets }))
  }
}

/**
 * Returns the tag and whether the release is a draft. The server accepts each tag once, and old versions reject a published release
 * whose tag is not in git. Such a release becomes a draft.
 */
function chooseTag(context: DumpContext, release: Release, refs: OidsByRef, taken: Set<string>) {
  const { tag, draft } = release
  const { records } = context
  const exists = refs.has(`refs/tags/${Buffer.from(tag).toString('latin1')}`)
  let name = tag
  const isUsable = exists || /^[\w.+-]+(?:\/[\w.+-]+)*$/.test(tag)
  if (!isUsable || taken.has(tag)) {
    for (let n = 1; taken.has(name) || name === tag; n++) name = `draft-${n}`
    records.warn(
      'releases',
      `the tag name ${JSON.stringify(tag)} is ${isUsable ? 'used twice' : 'not usable'}: its release becomes the draft ${name}`,
    )
  } else if (!exists && !draft)
    records.warn('releases', `the tag ${tag} is not in the archive: its release becomes a draft`)
  taken.add(name)
  return { tag: name, draft: draft || !exists || name !== tag }
}

function dumpRelease(
  context: DumpContext,
  release: Release,
  { tag, draft, assets }: { tag: string; draft: boolean; assets: unknown[] },
) {
  const { id, name } = context.identity(release.author)
  context.report.addLoss('release_reactions', release.reactions?.length ?? 0)
  return {
    tag_name: tag,
    target_commitish: release.target,
    name: release.name || release.tag,
    body: context.text(release.body),
    draft,
    prerelease: release.prerelease,
    publisher_id: id,
    publisher_name: name,
    publisher_email: '',
    assets,
    created: yamlTime(release.createdAt),
    published: yamlTime(release.publishedAt ?? release.createdAt),
  }
}

async function dumpAssets(context: DumpContext, release: Release, index: number) {
  const { directory, records, content } = context
  const dumped: unknown[] = []
  for (const [n, asset] of release.assets.entries()) {
    const found = await records.findFile(content, 'release_assets', asset.file)
    if (!found) continue
    const path = `release_assets/${index}/${n + 1}/${urlName(asset.name)}`
    await linkOrCopy(found.file, join(directory, path))
    dumped.push({
      id: 0,
      name: asset.name,
      content_type: asset.contentType,
      // The server crashes without size and download_count.
      size: found.bytes,
      download_count: 0,
      created: yamlTime(release.createdAt),
      updated: yamlTime(release.createdAt),
      download_url: path,
      // Some versions 1.15.x of Gitea use this name instead and crash without it.
      downloadurl: path,
    })
  }
  return dumped
}
