import { appendFile } from 'node:fs/promises'
import type { Git } from '../../git/git.ts'
import { formatBytes, formatCount } from '../../lib/quantities.ts'
import type { CommitComment } from '../../records/pull-request.ts'
import type { Release } from '../../records/release.ts'
import type { Milestone, ProtectedBranch } from '../../records/repository.ts'
import type { Snapshot } from '../../sources/snapshot.ts'
import type { FormatReader } from '../format.ts'
import { linkOrCopy } from '../output.ts'
import type { Report } from '../report.ts'
import { findReadme, type GitTree, listWikiFiles, renderDocument, writeWiki } from './documents.ts'
import {
  formatDay,
  type Html,
  html,
  passiveName,
  relativeUrl,
  showControls,
  timeHtml,
} from './html.ts'
import { type Item, type ItemTable, stateHtml, stateOf, writeItemPage } from './item-page.ts'
import {
  labelHtml,
  PagedList,
  type RepositorySite,
  type Section,
  type Site,
  writingHtml,
} from './site.ts'
import { hashKey, type Upload } from './spool.ts'

export interface SiteParts {
  site: Site
  git: Git
  content: FormatReader
  report: Report
  signal: AbortSignal
}

interface RepositoryParts extends SiteParts {
  repository: RepositorySite
  /** How many open and closed issues and pull requests have each label and each milestone. */
  usage: { labels: Map<string, Usage>; milestones: Map<number, Usage> }
}

type Usage = { open: number; closed: number }

/** Writes all pages of a repository. */
export async function writeRepository(
  parts: SiteParts,
  fullName: string,
  snapshot: Snapshot,
): Promise<RepositorySite> {
  const { site, git, signal } = parts
  const key = fullName.toLowerCase()
  const { fact, directory } = site.spool.repositories.get(key)!
  const count = (table: string) => site.spool.rows.count(`${table} ${key}`)
  const { dir } = snapshot.repository
  const refs = await readRefs(git, dir, signal)
  const branches = refs.filter(({ name }) => name.startsWith('refs/heads/'))
  const tags = refs.filter(({ name }) => name.startsWith('refs/tags/'))
  const wiki = snapshot.wiki && (await findWiki(git, snapshot.wiki.dir, signal))
  const wikiFiles = wiki ? await listWikiFiles(wiki, signal) : []
  const sections: [title: string, folder: string, count: number][] = [
    ['Issues', 'issues', count('issues by age')],
    ['Pull requests', 'pulls', count('pulls by age')],
    ['Releases', 'releases', count('releases')],
    ['Milestones', 'milestones', count('milestones')],
    ['Labels', 'labels', fact.labels.length],
    ['Branches', 'branches', branches.length],
    ['Tags', 'tags', tags.length],
    ['Commit comments', 'commits', count('commit comments')],
    ['Files', 'files', count('files')],
    ['Wiki', 'wiki', wikiFiles.length],
  ]
  const shown = sections.flatMap(([title, folder, count]): Section[] =>
    count > 0 ? [{ title, path: `${directory}/${folder}/index.html`, count }] : [],
  )
  const repository: RepositorySite = {
    ...{ key, fullName, fact, directory },
    colors: new Map(fact.labels.map(({ name, color }) => [name, color])),
    sections: [{ title: 'README', path: `${directory}/index.html` }, ...shown],
  }
  parts.report.lost('collaborators', fact.collaborators.length)
  parts.report.lost('LFS_objects', snapshot.examination.repository.lfsObjects.length)
  const all = { ...parts, repository, usage: { labels: new Map(), milestones: new Map() } }
  await writeFiles(all)
  await writeItems(all)
  await writeReleases(all)
  await writeMilestones(all)
  await writeLabels(all)
  await writeRefs(all, 'Branches', branches)
  await writeRefs(all, 'Tags', tags)
  await writeCommitComments(all)
  if (wiki) await writeWiki(site, wiki, repository, wikiFiles, signal)
  const main = branches.find(({ name }) => name === `refs/heads/${fact.defaultBranch}`)
  await writeReadme(all, dir, main ?? branches[0])
  return repository
}

interface Ref {
  name: string
  oid: string
  at: string
  subject: string
}

const REF_FORMAT =
  '%(refname)%00%(objectname)%00%(*objectname)%00%(creatordate:iso-strict)%00%(subject)'

/** Reads branches and tags, the newest first. */
async function readRefs(git: Git, dir: string, signal: AbortSignal): Promise<Ref[]> {
  const args = ['for-each-ref', '--sort=-creatordate', `--format=${REF_FORMAT}`]
  const listed = await git.text([...args, 'refs/heads', 'refs/tags'], { dir, signal })
  return listed.split('\n').flatMap((line) => {
    const [name, oid = '', commit, at = '', subject = ''] = line.split('\0')
    return name ? [{ name, oid: commit || oid, at, subject }] : []
  })
}

/** Returns undefined for an empty wiki. Its HEAD may lead to a branch that does not exist. */
async function findWiki(git: Git, dir: string, signal: AbortSignal): Promise<GitTree | undefined> {
  const refs = await readRefs(git, dir, signal)
  const main = refs.find(({ name }) => /^refs\/heads\/(?:master|main)$/.test(name)) ?? refs[0]
  return main && { git, dir, commit: main.oid }
}

async function writeReadme(
  { site, git, repository, signal }: RepositoryParts,
  dir: string,
  branch: Ref | undefined,
): Promise<void> {
  const { fact, fullName, directory } = repository
  const path = `${directory}/index.html`
  const tree = branch && { git, dir, commit: branch.oid }
  const readme = tree && (await findReadme(tree, signal))
  const page = { page: path, repository }
  const text = tree && readme && (await renderDocument(site, tree, readme, page, signal))
  const isLink = /^https?:\/\//i.test(fact.website ?? '')
  const notes = [
    fact.private ? 'Private' : 'Public',
    fact.archived && 'archived',
    fact.topics?.length && `topics: ${fact.topics.map(({ name }) => name).join(', ')}`,
  ]
  const body = html`<h1><bdi>${fullName}</bdi></h1>
${fact.description && html`<p class="description" dir="auto">${fact.description}</p>\n`}<p class="summary">${notes.filter(Boolean).join(' · ')} · created on ${timeHtml(fact.createdAt)}${
    fact.website &&
    html` · ${isLink ? html`<a href="${fact.website}">${fact.website}</a>` : fact.website}`
  }</p>
${
  text
    ? html`<article class="comment"><p class="place"><code>${readme?.path}</code></p><div class="text document" dir="auto">${text}</div></article>`
    : html`<p>${branch ? 'This repository has no README.' : 'This repository is empty.'}</p>`
}`
  await site.write({ path, title: fullName, body, repository })
}

/** Copies uploaded files into the site and lists them. */
async function writeFiles({ site, content, report, repository, signal }: RepositoryParts) {
  const { rows } = site.spool
  const { key, directory, fullName } = repository
  const count = rows.count(`files ${key}`)
  if (count === 0) return
  const path = `${directory}/files`
  const list = new PagedList(site, { repository, path, title: 'Files', count, size: 200 })
  for (const [number, upload] of rows.all<Upload>(`files ${key}`)) {
    signal.throwIfAborted()
    const found = await content.findFile(upload.file, signal)
    if ('missing' in found) {
      site.missing.add(upload.path)
      report.lostRecord('attachments', `${fullName}: ${found.missing}`)
    } else await linkOrCopy(found.file, await site.place(upload.path))
    const item = site.itemPath(key, number)
    const name =
      'missing' in found
        ? html`${upload.name} (missing)`
        : html`<a href="${relativeUrl(list.path, upload.path)}" download="${upload.name}">${upload.name}</a> (${upload.contentType}, ${formatBytes(found.bytes)})`
    await list.add(html`<li>${name}
<p>Uploaded by ${site.person(upload.author)} on ${timeHtml(upload.createdAt)}${item && html` to <a href="${relativeUrl(list.path, `${item}${upload.anchor && `#${upload.anchor}`}`)}">#${number}</a>`}</p></li>`)
  }
  await list.end()
}

async function writeItems(parts: RepositoryParts): Promise<void> {
  const { site, report, repository } = parts
  const { rows } = site.spool
  const { key, fullName } = repository
  const all = rows.count(`timeline ${key}`) + rows.count(`review comments ${key}`)
  const written = (await writeItemTable(parts, 'issues')) + (await writeItemTable(parts, 'pulls'))
  const why = `${fullName}: their issue or pull request is not in the input`
  report.lost('orphaned_comments', all - written, why)
}

const PAGE_SIZE = 100

/** Writes the list of issues or pull requests and the page of each. Returns how many rows of the timeline they have. */
async function writeItemTable(parts: RepositoryParts, table: ItemTable): Promise<number> {
  const { site, report, repository, signal } = parts
  const { rows } = site.spool
  const { key, directory, fullName } = repository
  const count = rows.count(`${table} by age ${key}`)
  if (count === 0) return 0
  const path = `${directory}/${table}`
  const title = table === 'issues' ? 'Issues' : 'Pull requests'
  const list = new PagedList(site, {
    ...{ repository, path, title, count, size: PAGE_SIZE },
    ...{ head: filterForm(table), isFiltered: true },
  })
  const index = await site.place(`${path}/index.js`)
  let found: unknown[] = []
  const flush = async () => {
    await appendFile(index, `addRows(${showControls(JSON.stringify(found))})\n`)
    found = []
  }
  await appendFile(index, `addLabels(${showControls(JSON.stringify([...repository.colors]))})\n`)
  let last: number | undefined
  let written = 0
  for (const [age] of rows.all(`${table} by age ${key}`)) {
    signal.throwIfAborted()
    const number = -age
    if (number === last) {
      report.lostRecord(table, `${fullName}: #${number} occurs twice`)
      continue
    }
    last = number
    const item = rows.of<Item>(`${table} ${key}`, number)[0]!
    const page = await writeItemPage(site, repository, table, item)
    written += page.rows
    countUsage(parts, item)
    const milestone = milestoneTitle(parts, item.milestone)
    const shown = { item, state: stateOf(item), comments: page.comments, milestone }
    await list.add(itemRow(parts, table, shown))
    const { author, createdAt, labels } = item
    const day = formatDay(createdAt)
    found.push([number, item.title, shown.state, author, labels, day, milestone, page.comments])
    if (found.length === PAGE_SIZE) await flush()
  }
  await list.end()
  await flush()
  return written
}

function countUsage({ usage }: RepositoryParts, { labels, milestone, closedAt }: Item): void {
  const state = closedAt === null ? 'open' : 'closed'
  const add = <K>(counts: Map<K, Usage>, key: K) => {
    const counted = counts.get(key) ?? { open: 0, closed: 0 }
    counts.set(key, counted)
    counted[state]++
  }
  for (const label of labels) add(usage.labels, label)
  if (milestone !== null) add(usage.milestones, milestone)
}

function milestoneTitle({ site, repository }: RepositoryParts, number: number | null) {
  if (number === null) return ''
  const [found] = site.spool.rows.of<Milestone>(`milestones ${repository.key}`, number)
  return found?.title ?? `milestone ${number}`
}

interface ItemRow {
  item: Item
  state: ReturnType<typeof stateOf>
  comments: number
  milestone: string
}

function itemRow(
  { site, repository }: RepositoryParts,
  table: ItemTable,
  { item, state, comments, milestone }: ItemRow,
): Html {
  return html`<li>${stateHtml(state, table)} <a href="${item.number}.html"><bdi>${item.title}</bdi></a> ${item.labels.map((name) => labelHtml(name, repository.colors.get(name)))}
<p>#${item.number} by ${site.person(item.author)} on ${timeHtml(item.createdAt)}${milestone && html` · <bdi>${milestone}</bdi>`}${comments > 0 && html` · ${formatCount(comments, 'comment')}`}</p></li>`
}

/** The form stays hidden without script. Then all pages of the list can be read. */
function filterForm(table: ItemTable): Html {
  const states = table === 'issues' ? ['open', 'closed'] : ['open', 'draft', 'merged', 'closed']
  return html`<form class="filter" role="search" aria-label="Filter" hidden>
<label>Text <input type="search" name="text" autocomplete="off"></label>
<label>State <select name="state"><option value="">All</option>${states.map((state) => html`<option>${state}</option>`)}</select></label>
<label>Label <select name="label"><option value="">All</option></select></label>
<label>Author <select name="author"><option value="">All</option></select></label>
<label>Milestone <select name="milestone"><option value="">All</option></select></label>
<button type="reset">Clear</button>
</form>
<div class="found" hidden><p role="status"></p><ul class="rows"></ul><button type="button">Show more</button></div>
`
}

async function writeReleases(parts: RepositoryParts): Promise<void> {
  const { site, repository, signal } = parts
  const { rows } = site.spool
  const { key, directory } = repository
  const count = rows.count(`releases ${key}`)
  if (count === 0) return
  const path = `${directory}/releases`
  const list = new PagedList(site, {
    ...{ repository, path, title: 'Releases', count, size: 20, element: 'div' },
  })
  let index = 0
  for (const [, release] of rows.all<Release>(`releases ${key}`)) {
    signal.throwIfAborted()
    const { tag, author, publishedAt, createdAt, draft, prerelease } = release
    const assets = await copyAssets(parts, release, ++index, list.path)
    const uploads = rows.of<Upload>(`files ${key}`, hashKey(`release ${tag}`))
    const writing = {
      ...{ body: release.body, reactions: release.reactions ?? [], headingLevel: 2 },
      uploads: uploads.filter((upload) => !site.missing.has(upload.path)),
    }
    await list.add(html`<article class="comment"><h2><bdi>${release.name || tag}</bdi> <span class="muted"><code>${tag}</code> by ${site.person(author)} on ${timeHtml(publishedAt ?? createdAt)}${draft && html` <span class="note">Draft</span>`}${prerelease && html` <span class="note">Pre-release</span>`}</span></h2>
${writingHtml(list.path, site.linksFrom(list.path, repository), writing)}${assets.length > 0 && html`<ul class="files inline" aria-label="Assets">${assets}</ul>`}</article>`)
  }
  await list.end()
}

async function copyAssets(
  { site, content, report, repository, signal }: RepositoryParts,
  release: Release,
  index: number,
  page: string,
): Promise<Html[]> {
  const shown: Html[] = []
  for (const [n, { name, file }] of release.assets.entries()) {
    const found = await content.findFile(file, signal)
    if ('missing' in found) {
      report.lostRecord('release_assets', `${repository.fullName}: ${found.missing}`)
      shown.push(html`<li>${name} (missing)</li>`)
      continue
    }
    const path = `${repository.directory}/releases/assets/${index}-${n + 1}-${passiveName(name)}`
    await linkOrCopy(found.file, await site.place(path))
    shown.push(
      html`<li><a href="${relativeUrl(page, path)}" download="${name}">${name}</a> (${formatBytes(found.bytes)})</li>`,
    )
  }
  return shown
}

async function writeMilestones({ site, repository, usage }: RepositoryParts): Promise<void> {
  const { rows } = site.spool
  const { key, directory } = repository
  if (rows.count(`milestones ${key}`) === 0) return
  const path = `${directory}/milestones`
  const list = new PagedList(site, { repository, path, title: 'Milestones', ...ONE_PAGE })
  for (const [number, { title, state, dueOn, description }] of rows.all<Milestone>(
    `milestones ${key}`,
  )) {
    const { open, closed } = usage.milestones.get(number) ?? { open: 0, closed: 0 }
    const writing = { body: description, uploads: [], reactions: [], headingLevel: 2 }
    await list.add(html`<li id="milestone-${number}">${stateHtml(state, 'issues')} <bdi>${title}</bdi>
<p>${open} open, ${closed} closed${dueOn && html` · due on ${timeHtml(dueOn)}`}${filterLinks(repository, list.path, 'milestone', title)}</p>
${writingHtml(list.path, site.linksFrom(list.path, repository), writing)}</li>`)
  }
  await list.end()
}

const ONE_PAGE = { count: 1, size: Number.POSITIVE_INFINITY }

/** Links to the lists of issues and pull requests, filtered by one value. */
function filterLinks(
  repository: RepositorySite,
  from: string,
  name: string,
  value: string,
): Html[] {
  const query = `#${new URLSearchParams({ [name]: showControls(value) })}`
  return repository.sections
    .filter(({ title }) => title === 'Issues' || title === 'Pull requests')
    .map(({ title, path }) => html` · <a href="${relativeUrl(from, path)}${query}">${title}</a>`)
}

async function writeLabels({ site, repository, usage }: RepositoryParts): Promise<void> {
  const { labels } = repository.fact
  if (labels.length === 0) return
  const path = `${repository.directory}/labels`
  const list = new PagedList(site, { repository, path, title: 'Labels', ...ONE_PAGE })
  for (const { name, color, description } of labels) {
    const { open, closed } = usage.labels.get(name) ?? { open: 0, closed: 0 }
    await list.add(html`<li>${labelHtml(name, color)}${description && html` <span dir="auto">${description}</span>`}
<p>${open} open, ${closed} closed${filterLinks(repository, list.path, 'label', name)}</p></li>`)
  }
  await list.end()
}

async function writeRefs(
  { site, repository }: RepositoryParts,
  title: 'Branches' | 'Tags',
  refs: readonly Ref[],
): Promise<void> {
  if (refs.length === 0) return
  const { key, directory, fact } = repository
  const rules =
    title === 'Branches' ? site.spool.rows.of<ProtectedBranch>(`protected branches ${key}`, 0) : []
  const list = new PagedList(site, {
    ...{ repository, path: `${directory}/${title.toLowerCase()}`, title },
    ...{ count: refs.length, size: 500 },
    head: html`${rules.length > 0 && html`<p>Protected: ${rules.map((rule, n) => html`${n > 0 && ', '}<code>${rule.name}</code>${rule.reviews.required && ` (${formatCount(rule.reviews.approvals, 'approval')})`}`)}</p>\n`}`,
  })
  for (const { name, oid, at, subject } of refs) {
    const short = name.replace(/^refs\/(?:heads|tags)\//, '')
    await list.add(html`<li><code>${short}</code>${title === 'Branches' && short === fact.defaultBranch && html` <span class="note">Default</span>`}
<p><code>${oid.slice(0, 10)}</code> <span dir="auto">${subject}</span>${at && html` · ${timeHtml(at)}`}</p></li>`)
  }
  await list.end()
}

async function writeCommitComments({ site, repository, signal }: RepositoryParts): Promise<void> {
  const { rows } = site.spool
  const { key, directory } = repository
  const count = rows.count(`commit comments ${key}`)
  if (count === 0) return
  const path = `${directory}/commits`
  const list = new PagedList(site, {
    ...{ repository, path, title: 'Commit comments', count, size: 50, element: 'div' },
  })
  for (const [, comment] of rows.all<CommitComment>(`commit comments ${key}`)) {
    signal.throwIfAborted()
    const { id, commit, author, body, reactions, createdAt } = comment
    const uploads = rows
      .of<Upload>(`files ${key}`, hashKey(`comment ${id}`))
      .filter((upload) => !site.missing.has(upload.path))
    const links = site.linksFrom(list.path, repository)
    await list.add(html`<article class="comment" id="commitcomment-${id}"><h2>${site.person(author)} <span class="muted">commented on <code>${commit.slice(0, 10)}</code>${comment.path && html`, <code>${comment.path}</code>`}, ${timeHtml(createdAt)}</span></h2>
${writingHtml(list.path, links, { body, reactions, uploads, headingLevel: 2 })}</article>`)
  }
  await list.end()
}
