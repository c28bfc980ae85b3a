import { existsSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Git } from '@godwit/git/git'
import { formatCount } from '@godwit/lib/quantities'
import { sortedRows } from '@godwit/lib/sorted-rows'
import { UserError } from '@godwit/lib/user-error'
import {
  type ContentSummary,
  type Conversion,
  type FormatReader,
  type FormatWriter,
  type Written,
  writeRepositories,
} from '../format.ts'
import { moveDurably, moveTo } from '../output.ts'
import { type Html, html, relativeUrl, timeHtml } from './html.ts'
import { writeRepository } from './repository-pages.ts'
import { type RepositorySite, Site } from './site.ts'
import { readSiteRows } from './site-rows.ts'

export interface HtmlOptions {
  git: Git
  /** The directory of the site. It must not exist. */
  output: string
  /** A directory on the file system of `output`, which the caller removes. */
  workDirectory: string
  /** The program to name in the footer, such as `godwit 0.1.0`. */
  generator: string
  now: Date
}

/**
 * Writes a site of plain files that can be read from disk in any browser. The output appears only when it is complete. Its files are
 * not synced one by one, which would take longer than writing them: the site can be written again from its input.
 */
export function htmlWriter(options: HtmlOptions): FormatWriter {
  if (existsSync(options.output))
    throw new UserError(`${options.output} already exists; name another directory`)
  return { write: (conversion) => writeSite(options, conversion) }
}

async function* writeSite(options: HtmlOptions, conversion: Conversion): AsyncGenerator<Written> {
  const { git, output, workDirectory } = options
  const { content, report } = conversion
  using rows = sortedRows(join(workDirectory, 'rows'))
  const root = join(workDirectory, 'site')
  const footer = html`<p>Written by ${options.generator} on ${timeHtml(options.now.toISOString())}. Exported by ${originHtml(content.summary)}.</p>`
  const site = new Site(root, await readSiteRows(conversion, rows), footer)
  const entries: Html[] = []
  let converted = 0
  const context = { ...conversion, site, git }
  const written = writeRepositories(conversion, async (fullName, { snapshot }) => {
    entries.push(entryHtml(await writeRepository(context, fullName, snapshot)))
    converted++
  })
  for await (const each of written) {
    if (each.errors.length > 0) entries.push(failedHtml(each))
    yield each
  }
  if (converted === 0) return
  await writeStartPage(site, content, entries)
  await moveDurably(dirname(output), () => moveTo(root, output))
  report.notes.push(
    `next: open ${join(output, 'index.html')} in a browser; a web server must send the headers that docs/MOVING.md lists`,
  )
}

function originHtml({ madeBy, madeAt }: ContentSummary): Html {
  const program = madeBy === 'unknown' ? 'another program' : madeBy
  return html`${program}${madeAt && html` on ${timeHtml(madeAt)}`}`
}

const STYLE = new URL('site.css', import.meta.url)
const SCRIPT = new URL('filter-list.js', import.meta.url)

async function writeStartPage(site: Site, { summary }: FormatReader, entries: readonly Html[]) {
  await copyFile(STYLE, await site.preparePath('site.css'))
  await copyFile(SCRIPT, await site.preparePath('filter-list.js'))
  const body = html`<h1>${formatCount(entries.length, 'repository', 'repositories')}</h1>
<p class="summary">Exported by ${originHtml(summary)}. Everything on these pages is in this directory; nothing is loaded from elsewhere.</p>
<ul class="rows">
${entries}</ul>`
  await site.writePage({ path: 'index.html', title: 'Repositories', body })
}

function entryHtml({ fullName, record, sections, directory }: RepositorySite): Html {
  const counts = sections.flatMap(({ title, path, count }) =>
    count === undefined
      ? []
      : [html` · <a href="${relativeUrl('index.html', path)}">${title}</a> ${count}`],
  )
  return html`<li><a href="${relativeUrl('index.html', `${directory}/index.html`)}"><bdi>${fullName}</bdi></a>${record.description && html` <span dir="auto">${record.description}</span>`}
<p>${record.private ? 'Private' : 'Public'}${counts}</p></li>
`
}

const failedHtml = ({ fullName, errors }: Written): Html =>
  html`<li><bdi>${fullName}</bdi> could not be read:
${errors.map((error) => html`<p>${error}</p>`)}</li>
`
