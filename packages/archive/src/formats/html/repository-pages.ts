import { appendFile } from 'node:fs/promises'
import type { GitRepository } from '@godwit/git/commits-and-refs'
import type { Git } from '@godwit/git/git'
import type { Snapshot } from '@godwit/git/snapshot'
import { formatBytes, formatCount, formatNumber } from '@godwit/lib/quantities'
import type { Release } from '../../records/release.ts'
import type { ProtectedBranch } from '../../records/repository.ts'
import type { Conversion } from '../format.ts'
import { linkOrCopy } from '../output.ts'
import { RepositoryRecords } from '../sort-records.ts'
import { findReadme, type GitTree, listWikiFiles, renderDocument, writeWiki } from './documents.ts'
import { formatDay, Html, html, passiveName, relativeUrl, showControls, timeHtml } from './html.ts'
import { type Item, type ItemTable, stateHtml, stateOf, writeItemPage } from './item-page.ts'
import { labelHtml, type RepositorySite, type Section, type Site, writingHtml } from './site.ts'
import type { Upload } from './site-rows.ts'

export type SiteContext = Conversion & { site: Site; git: Git }

interface RepositoryContext extends SiteContext {
  repository: RepositorySite
  /**
   * How many open and closed issues and pull requests have each label and each milestone. These are counted while the lists of
   * issues and pull requests are written, so the lists of labels and milestones must be written later.
   */
  usage: { labels: Map<string, Usage>; milestones: Map<number, Usage> }
  /** How many comments, events and reviews the pages show. Counted while the lists are written. */
  shownRows: number
}

type Usage = { open: number; closed: number }

/** A section that is a list. The links of its rows are relative to any file in its directory. */
interface List extends Section {
  count: number
  rows: Iterable<Html> | AsyncIterable<Html>
  /** How many rows a page has, by default 100. */
  size?: number
  /** The element around the rows, by default a list. */
  element?: 'ul' | 'div'
  /** Shown above the rows of every page. */
  head?: Html
  /** The states by which the list can be filtered. Without them there is no filter. */
  states?: readonly string[]
}

/** Writes all pages of a repository. Fails with GitFailed if git cannot read it. */
export async function writeRepository(
  siteContext: SiteContext,
  fullName: string,
  snapshot: Snapshot,
): Promise<RepositorySite> {
  const { site, git, report, signal } = siteContext
  const { rows, repositories } = site.siteRows
  const key = fullName.toLowerCase()
  const { record, directory } = repositories.get(key)!
  const records = new RepositoryRecords({ rows, report }, fullName)
  const { dir } = snapshot.repository
  const refs = await readRefs({ git, dir, signal })
  const branches = refs.filter(({ name }) => name.startsWith('refs/heads/'))
  const tags = refs.filter(({ name }) => name.startsWith('refs/tags/'))
  const wiki = snapshot.wiki && (await findWiki({ git, dir: snapshot.wiki.dir, signal }))
  const wikiFiles = wiki ? await listWikiFiles(wiki) : []
  const sections: Section[] = [{ title: 'README', path: `${directory}/index.html` }]
  const repository: RepositorySite = {
    key,
    fullName,
    record,
    records,
    directory,
    sections,
    colors: new Map(record.labels.map(({ name, color }) => [name, color])),
  }
  const context: RepositoryContext = {
    ...siteContext,
    repository,
    shownRows: 0,
    usage: { labels: new Map(), milestones: new Map() },
  }
  const list = (
    title: string,
    folder: string,
    { count, rows = [], ...options }: Pick<List, 'count'> & Partial<List>,
  ): List => ({ title, path: `${directory}/${folder}/index.html`, count, rows, ...options })
  const issues = { count: records.count('issues'), rows: itemRows(context, 'issues') }
  const pulls = { count: records.count('pull_requests'), rows: itemRows(context, 'pulls') }
  const releases = { count: records.count('releases'), rows: releaseRows(context) }
  const milestones = { count: records.count('milestones'), rows: milestoneRows(context) }
  const comments = { count: records.count('commit_comments'), rows: commentRows(context) }
  const uploads = { count: rows.count(`files ${key}`), rows: fileRows(context) }
  const files = list('Files', 'files', { ...uploads, size: 200 })
  const lists: List[] = [
    list('Issues', 'issues', { ...issues, states: ['open', 'closed'] }),
    list('Pull requests', 'pulls', { ...pulls, states: ['open', 'draft', 'merged', 'closed'] }),
    list('Releases', 'releases', { ...releases, size: 20, element: 'div' }),
    // Issues link to milestones on `index.html`, so that all of them are on one page.
    list('Milestones', 'milestones', { ...milestones, size: Number.POSITIVE_INFINITY }),
    list('Labels', 'labels', { count: record.labels.length, rows: labelRows(context) }),
    list('Branches', 'branches', {
      ...{ count: branches.length, rows: refRows(context, branches) },
      head: protectionHtml(records.of('protected_branches', 0)),
    }),
    list('Tags', 'tags', { count: tags.length, rows: refRows(context, tags) }),
    list('Commit comments', 'commits', { ...comments, element: 'div' }),
    files,
  ]
  const shown = lists.filter((each) => each.count > 0)
  sections.push(...shown)
  if (wikiFiles.length > 0) sections.push(list('Wiki', 'wiki', { count: wikiFiles.length }))
  // Files are written first, because other pages show only those that were found.
  for (const each of new Set([files, ...shown])) if (each.count > 0) await writeList(context, each)
  if (wiki) await writeWiki(site, wiki, repository, wikiFiles)
  const main = branches.find(({ name }) => name === `refs/heads/${record.defaultBranch}`)
  await writeOverview(context, dir, main ?? branches[0])
  const all = CONVERSATION_KINDS.reduce((sum, kind) => sum + records.count(kind), 0)
  const orphans = all - context.shownRows
  const why = `${fullName}: their issue or pull request is not in the input`
  report.addLoss('orphaned_comments', orphans, why)
  report.addLoss('collaborators', record.collaborators.length)
  report.addLoss('LFS_objects', snapshot.examination.repository.lfsObjects.length)
  return repository
}

const CONVERSATION_KINDS = [
  ...(['issue_comments', 'issue_events'] as const),
  ...(['pull_request_reviews', 'pull_request_review_comments'] as const),
]

/** Writes a list to `index.html`, `page-2.html` and so on. */
async function writeList({ site, repository, signal }: RepositoryContext, list: List) {
  const { title, rows, size = 100, element = 'ul', head, states } = list
  const last = Math.max(1, Math.ceil(list.count / size))
  const pathOf = (page: number) =>
    page === 1 ? list.path : list.path.replace(/index\.html$/, `page-${page}.html`)
  let page = 1
  let shown: Html[] = []
  const writePage = async () => {
    const near = [1, page - 2, page - 1, page, page + 1, page + 2, last]
    const pages = [...new Set(near)].filter((each) => each >= 1 && each <= last)
    const links = pages.map(
      (each, index) =>
        html`${each - (pages[index - 1] ?? 0) > 1 && html`<li>…</li>`}<li><a href="${relativeUrl(list.path, pathOf(each))}"${each === page && html` aria-current="page"`}>${formatNumber(each)}</a></li>`,
    )
    const body = html`<h1>${title}</h1>\n${states && filterForm(states)}${head}<div class="list">${new Html(`<${element} class="rows">`)}
${shown.map((row) => html`${row}\n`)}${new Html(`</${element}>`)}${last > 1 && html`<nav class="pages" aria-label="Pages"><ul class="inline">${links}</ul></nav>`}</div>`
    await site.writePage({ path: pathOf(page), title, body, repository, isFiltered: !!states })
    page++
    shown = []
  }
  for await (const row of rows) {
    signal.throwIfAborted()
    shown.push(row)
    if (shown.length === size) await writePage()
  }
  if (page <= last) await writePage()
}

interface Ref {
  name: string
  /** The commit, also for an annotated tag. */
  oid: string
  at: string
  subject: string
}

const REF_FORMAT =
  '%(refname)%00%(objectname)%00%(*objectname)%00%(creatordate:iso-strict)%00%(subject)'

/** Reads branches and tags, the newest first. */
async function readRefs({ git, ...call }: GitRepository): Promise<Ref[]> {
  const args = ['for-each-ref', '--sort=-creatordate', `--format=${REF_FORMAT}`]
  const listed = await git.text([...args, 'refs/heads', 'refs/tags'], call)
  return listed.split('\n').flatMap((line) => {
    const [name, oid = '', commit, at = '', subject = ''] = line.split('\0')
    return name ? [{ name, oid: commit || oid, at, subject }] : []
  })
}

/** Returns undefined for a wiki without a branch. HEAD is not used, because it may name a branch that does not exist. */
async function findWiki(wiki: GitRepository): Promise<GitTree | undefined> {
  const refs = await readRefs(wiki)
  const branches = refs.filter(({ name }) => name.startsWith('refs/heads/'))
  const main = branches.find(({ name }) => /\/heads\/(?:master|main)$/.test(name)) ?? branches[0]
  return main && { ...wiki, commit: main.oid }
}

/** Writes the first page of a repository, with its description and README. */
async function writeOverview(
  { site, git, repository, signal }: RepositoryContext,
  dir: string,
  branch: Ref | undefined,
): Promise<void> {
  const { record, fullName, directory } = repository
  const path = `${directory}/index.html`
  const tree = branch && { git, dir, signal, commit: branch.oid }
  const readme = tree && (await findReadme(tree))
  const page = { page: path, repository }
  const text = tree && readme && (await renderDocument(site, tree, readme, page))
  const isLink = /^https?:\/\//i.test(record.website ?? '')
  const properties = [
    record.private ? 'Private' : 'Public',
    record.archived && 'archived',
    record.topics?.length && `topics: ${record.topics.map(({ name }) => name).join(', ')}`,
  ]
  const body = html`<h1><bdi>${fullName}</bdi></h1>
${record.description && html`<p class="description" dir="auto">${record.description}</p>\n`}<p class="summary">${properties.filter(Boolean).join(' · ')} · created on ${timeHtml(record.createdAt)}${
    record.website &&
    html` · ${isLink ? html`<a href="${record.website}">${record.website}</a>` : record.website}`
  }</p>
${
  text
    ? html`<article class="comment"><p class="place"><code>${readme?.path}</code></p><div class="text document" dir="auto">${text}</div></article>`
    : html`<p>${branch ? 'This repository has no README.' : 'This repository is empty.'}</p>`
}`
  await site.writePage({ path, title: fullName, body, repository })
}

/** Copies uploaded files into the site and lists them. A file of an issue or a pull request has its number as key. */
async function* fileRows({ site, content, repository }: RepositoryContext) {
  const { key, directory, records } = repository
  const from = `${directory}/files/index.html`
  for (const [number, upload] of site.siteRows.rows.all<Upload>(`files ${key}`)) {
    const { name, path, anchor } = upload
    const found = await records.findFile(content, 'attachments', upload.file)
    let file = html`${name} (missing)`
    if (!found) site.missing.add(path)
    else {
      await linkOrCopy(found.file, await site.preparePath(path))
      file = html`<a href="${relativeUrl(from, path)}" download="${name}">${name}</a> (${upload.contentType}, ${formatBytes(found.bytes)})`
    }
    const item = site.itemPath({ key, number })
    yield html`<li>${file}
<p>Uploaded by ${site.person(upload.author)} on ${timeHtml(upload.createdAt)}${item && html` to <a href="${relativeUrl(from, `${item}${anchor && `#${anchor}`}`)}">#${number}</a>`}</p></li>`
  }
}

const INDEX_BATCH_SIZE = 100

/** Writes the page of each issue or pull request and `index.js` for `filter-list.js`, and lists them, the newest first. */
async function* itemRows(context: RepositoryContext, table: ItemTable) {
  const { site, report, repository } = context
  const { records, fullName, colors } = repository
  const kind = table === 'pulls' ? 'pull_requests' : table
  const index = await site.preparePath(`${repository.directory}/${table}/index.js`)
  const append = (call: string, values: unknown[]) =>
    appendFile(index, `${call}(${showControls(JSON.stringify(values))})\n`)
  await append('addLabels', [...colors])
  let batch: unknown[] = []
  let last: number | undefined
  for (const number of Array.from(records.all(kind), (each) => each.number).reverse()) {
    if (number === last) {
      report.addSkippedRecord(kind, `${fullName}: #${number} occurs twice`)
      continue
    }
    last = number
    const item: Item = records.of(kind, number)[0]!
    const { title, author, createdAt, labels } = item
    const page = await writeItemPage(site, repository, table, item)
    context.shownRows += page.rows
    countUsage(context, item)
    const [state, milestone] = [stateOf(item), milestoneTitle(context, item.milestone)]
    yield html`<li>${stateHtml(state, table)} <a href="${number}.html"><bdi>${title}</bdi></a> ${labels.map((name) => labelHtml(name, colors.get(name)))}
<p>#${number} by ${site.person(author)} on ${timeHtml(createdAt)}${milestone && html` · <bdi>${milestone}</bdi>`}${page.comments > 0 && html` · ${formatCount(page.comments, 'comment')}`}</p></li>`
    const day = formatDay(createdAt)
    batch.push([number, title, state, author, labels, day, milestone, page.comments])
    if (batch.length < INDEX_BATCH_SIZE) continue
    await append('addRows', batch)
    batch = []
  }
  await append('addRows', batch)
}

function countUsage({ usage }: RepositoryContext, { labels, milestone, closedAt }: Item): void {
  const state = closedAt === null ? 'open' : 'closed'
  const add = <K>(counts: Map<K, Usage>, key: K) => {
    counts.getOrInsertComputed(key, () => ({ open: 0, closed: 0 }))[state]++
  }
  for (const label of labels) add(usage.labels, label)
  if (milestone !== null) add(usage.milestones, milestone)
}

function milestoneTitle({ repository }: RepositoryContext, number: number | null): string {
  if (number === null) return ''
  return repository.records.of('milestones', number)[0]?.title ?? `milestone ${number}`
}

/** Returns a form that `filter-list.js` shows. Without script it stays hidden, and all pages of the list can be read. */
function filterForm(states: readonly string[]): Html {
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

async function* releaseRows(context: RepositoryContext) {
  const { site, repository } = context
  const from = `${repository.directory}/releases/index.html`
  const timeOf = (each: Release) => Date.parse(each.publishedAt ?? each.createdAt) || 0
  const releases = [...repository.records.all('releases')].sort((a, b) => timeOf(b) - timeOf(a))
  let index = 0
  for (const release of releases) {
    const { tag, author, body, publishedAt, createdAt, draft, prerelease, reactions = [] } = release
    const assets = await copyAssets(context, release, ++index, from)
    const uploads = site.uploads(repository, { kind: 'release', tag })
    const writing = { body, reactions, uploads, headingLevel: 2 }
    yield html`<article class="comment"><h2><bdi>${release.name || tag}</bdi> <span class="muted"><code>${tag}</code> by ${site.person(author)} on ${timeHtml(publishedAt ?? createdAt)}${draft && html` <span class="note">Draft</span>`}${prerelease && html` <span class="note">Pre-release</span>`}</span></h2>
${writingHtml(from, site.linksFrom(from, repository), writing)}${assets.length > 0 && html`<ul class="files inline" aria-label="Assets">${assets}</ul>`}</article>`
  }
}

async function copyAssets(
  { site, content, repository }: RepositoryContext,
  release: Release,
  index: number,
  page: string,
): Promise<Html[]> {
  const shown: Html[] = []
  for (const [n, { name, file }] of release.assets.entries()) {
    const found = await repository.records.findFile(content, 'release_assets', file)
    if (!found) {
      shown.push(html`<li>${name} (missing)</li>`)
      continue
    }
    const path = `${repository.directory}/releases/assets/${index}-${n + 1}-${passiveName(name)}`
    await linkOrCopy(found.file, await site.preparePath(path))
    shown.push(
      html`<li><a href="${relativeUrl(page, path)}" download="${name}">${name}</a> (${formatBytes(found.bytes)})</li>`,
    )
  }
  return shown
}

function* milestoneRows({ site, repository, usage }: RepositoryContext) {
  const from = `${repository.directory}/milestones/index.html`
  for (const milestone of repository.records.all('milestones')) {
    const { number, title, state, dueOn, description: body } = milestone
    const writing = { body, uploads: [], reactions: [], headingLevel: 2 }
    yield html`<li id="milestone-${number}">${stateHtml(state, 'issues')} <bdi>${title}</bdi>
<p>${formatUsage(usage.milestones.get(number))}${dueOn && html` · due on ${timeHtml(dueOn)}`}${filterLinks(repository, from, 'milestone', title)}</p>
${writingHtml(from, site.linksFrom(from, repository), writing)}</li>`
  }
}

const formatUsage = ({ open, closed }: Usage = { open: 0, closed: 0 }): string =>
  `${formatNumber(open)} open, ${formatNumber(closed)} closed`

/** Links to the lists of issues and pull requests, filtered by one value. */
function filterLinks(repository: RepositorySite, from: string, name: string, value: string) {
  const query = `#${new URLSearchParams({ [name]: showControls(value) })}`
  return repository.sections
    .filter(({ title }) => title === 'Issues' || title === 'Pull requests')
    .map(({ title, path }) => html` · <a href="${relativeUrl(from, path)}${query}">${title}</a>`)
}

function* labelRows({ repository, usage }: RepositoryContext) {
  const from = `${repository.directory}/labels/index.html`
  for (const { name, color, description } of repository.record.labels)
    yield html`<li>${labelHtml(name, color)}${description && html` <span dir="auto">${description}</span>`}
<p>${formatUsage(usage.labels.get(name))}${filterLinks(repository, from, 'label', name)}</p></li>`
}

function protectionHtml(rules: readonly ProtectedBranch[]): Html {
  const shown = rules.map(
    ({ name, reviews: { required, approvals } }) =>
      html` <code>${name}</code>${required && ` (${formatCount(approvals, 'approval')})`}`,
  )
  return html`${rules.length > 0 && html`<p>Protected:${shown}</p>\n`}`
}

function* refRows({ repository }: RepositoryContext, refs: readonly Ref[]) {
  for (const { name, oid, at, subject } of refs)
    yield html`<li><code>${name.replace(/^refs\/(?:heads|tags)\//, '')}</code>${name === `refs/heads/${repository.record.defaultBranch}` && html` <span class="note">Default</span>`}
<p><code>${oid.slice(0, 10)}</code> <span dir="auto">${subject}</span>${at && html` · ${timeHtml(at)}`}</p></li>`
}

function* commentRows({ site, repository }: RepositoryContext) {
  const from = `${repository.directory}/commits/index.html`
  for (const comment of repository.records.all('commit_comments')) {
    const { id, commit, author, body, path, reactions, createdAt } = comment
    const uploads = site.uploads(repository, { kind: 'commit_comment', commit, id })
    const writing = { body, reactions, uploads, headingLevel: 2 }
    yield html`<article class="comment" id="commitcomment-${id}"><h2>${site.person(author)} <span class="muted">commented on <code>${commit.slice(0, 10)}</code>${path && html`, <code>${path}</code>`}, ${timeHtml(createdAt)}</span></h2>
${writingHtml(from, site.linksFrom(from, repository), writing)}</article>`
  }
}
