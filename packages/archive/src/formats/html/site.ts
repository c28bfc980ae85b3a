import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { memoize } from '@godwit/lib/memoize'
import { formatNumber } from '@godwit/lib/quantities'
import type { Reaction } from '../../records/issue.ts'
import type { AttachedTo } from '../../records/release.ts'
import type { Repository } from '../../records/repository.ts'
import { hashKey, type RepositoryRecords } from '../sort-records.ts'
import { type Html, html, relativeUrl } from './html.ts'
import { type LinkResolver, renderMarkdown } from './markdown.ts'
import { anchorOf, type SiteRows, type Upload } from './site-rows.ts'

/** A part of a repository, with its first page. */
export interface Section {
  title: string
  path: string
  /** How many objects it has, if it is a list. */
  count?: number
}

export interface RepositorySite {
  /** `fullName` in lower case. */
  key: string
  fullName: string
  record: Repository
  records: RepositoryRecords
  /** Colours of its labels by name. */
  colors: ReadonlyMap<string, string>
  directory: string
  sections: readonly Section[]
}

export interface Page {
  /** Relative to the site. */
  path: string
  title: string
  body: Html
  repository?: RepositorySite
  /** Whether the page has a form to filter its list. */
  isFiltered?: boolean
}

// Firefox does not regard files beside a page as 'self' if the page is opened from disk.
const OWN_FILES = "'self' file:"
const POLICY = `default-src 'none'; img-src ${OWN_FILES}; style-src ${OWN_FILES}; base-uri 'none'; form-action 'none'`

/** Pages name the same people and issues again and again: the caches here save a fifth of the CPU time of a site of 2,000 issues. */
const MAX_CACHED = 10_000

/** The site while it is written, and what its pages have in common. */
export class Site {
  readonly siteRows: SiteRows
  /** Paths of uploads that the input does not contain. */
  readonly missing = new Set<string>()
  readonly #root: string
  readonly #footer: Html
  readonly #directories = new Set<string>()

  constructor(root: string, siteRows: SiteRows, footer: Html) {
    this.#root = root
    this.siteRows = siteRows
    this.#footer = footer
  }

  /** Returns the absolute path for a file of the site, and creates its directory. */
  async preparePath(path: string): Promise<string> {
    const directory = dirname(path)
    if (!this.#directories.has(directory))
      await mkdir(join(this.#root, directory), { recursive: true })
    this.#directories.add(directory)
    return join(this.#root, path)
  }

  /** What all pages of a directory have in common. */
  readonly #headerHtml = memoize(
    100,
    ({ path, repository }: Page): Html => {
      const to = (target: string) => relativeUrl(path, target)
      // A section is a directory; the README is in the directory of the repository itself.
      const isCurrent = (section: Section) => dirname(path) === dirname(section.path)
      return html`<header>
<p><a href="${to('index.html')}">Repositories</a>${repository && html` / <a href="${to(`${repository.directory}/index.html`)}"><bdi>${repository.fullName}</bdi></a>`}</p>
${
  repository &&
  html`<nav aria-label="Repository"><ul class="inline">
${repository.sections.map((section) => html`<li><a href="${to(section.path)}"${isCurrent(section) && html` aria-current="page"`}>${section.title}${section.count !== undefined && html` <span class="muted">${formatNumber(section.count)}</span>`}</a></li>\n`)}</ul></nav>`
}
</header>`
    },
    ({ path }) => dirname(path),
  )

  async writePage(page: Page): Promise<void> {
    const { path, title, body, repository, isFiltered } = page
    const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${isFiltered ? `${POLICY}; script-src ${OWN_FILES}` : POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>${repository && title !== repository.fullName ? `${title} · ${repository.fullName}` : title}</title>
<link rel="stylesheet" href="${relativeUrl(path, 'site.css')}">
${isFiltered && html`<script src="${relativeUrl(path, 'filter-list.js')}" defer></script>\n`}</head>
<body>
<a class="skip" href="#content">Skip to content</a>
${this.#headerHtml(page)}
<main id="content">
${body}
</main>
<footer>${this.#footer}</footer>
</body>
</html>
`
    // For thousands of small files this takes a third of the time of `writeFile`, and nothing else waits for this thread.
    writeFileSync(await this.preparePath(path), document.text)
  }

  /** Shows the login of a person; the full name is in the tooltip. */
  readonly person = memoize(MAX_CACHED, (login: string | null): Html => {
    if (login === null) return html`<b>ghost</b>`
    const [name] = this.siteRows.rows.of<string>('people', hashKey(login.toLowerCase()))
    return html`<b${name && html` title="${name}"`}><bdi>${login}</bdi></b>`
  })

  /** Returns the path of the page of an issue or a pull request, or undefined if there is none. */
  readonly itemPath = memoize(
    MAX_CACHED,
    ({ key, number }: { key: string; number: number }): string | undefined => {
      const { rows, repositories } = this.siteRows
      const directory = repositories.get(key)?.directory
      if (!directory) return undefined
      if (rows.has(`issues ${key}`, number)) return `${directory}/issues/${number}.html`
      return rows.has(`pull_requests ${key}`, number)
        ? `${directory}/pulls/${number}.html`
        : undefined
    },
    ({ key, number }) => `${key} ${number}`,
  )

  /** Returns the uploads that belong to an object, or for an issue or a pull request, to anything on its page. */
  uploads({ key }: RepositorySite, object: AttachedTo): Upload[] {
    const all = this.siteRows.rows.of<Upload>(`files ${key}`, anchorOf(object).key)
    return all.filter(({ path }) => !this.missing.has(path))
  }

  /**
   * Finds the upload that a URL on the old host led to. Such a URL contains the id of the upload as a step of its path. If several
   * uploads have the id, that of the repository with this directory is preferred.
   */
  #findUpload(url: string, directory: string): Upload | undefined {
    const steps = url.replace(/[?#].*$/s, '').split('/')
    for (const [index, step] of steps.entries()) {
      const id = steps[index - 1] === 'files' ? `files/${step}` : step
      const found = this.siteRows.rows.of<{ id: string; upload: Upload }>('uploads', hashKey(id))
      const uploads = found.filter((each) => each.id === id).map(({ upload }) => upload)
      const ofRepository = uploads.find(({ path }) => path.startsWith(`${directory}/files/`))
      const upload = ofRepository ?? uploads[0]
      if (upload && !this.missing.has(upload.path)) return upload
    }
    return undefined
  }

  linksFrom(path: string, { key, directory }: RepositorySite): PageLinks {
    const { urls } = this.siteRows
    const shown = new Set<string>()
    const itemUrl = (of: string, number: number) => {
      const target = this.itemPath({ key: of, number })
      return target && relativeUrl(path, target)
    }
    const upload = (url: string) => {
      const found = this.#findUpload(url, directory)
      if (found) shown.add(found.path)
      return found
    }
    return {
      shown,
      item: (number, repository = key) => itemUrl(repository.toLowerCase(), number),
      image(src) {
        const found = upload(src)
        return found && isImage(found.path) ? relativeUrl(path, found.path) : undefined
      },
      link(href) {
        const [, base, number, anchor = ''] = ITEM_URL.exec(href) ?? []
        const item = base && itemUrl(urls.get(base.toLowerCase()) ?? '', Number(number))
        if (item) return item + anchor
        const found = upload(href)
        if (found) return relativeUrl(path, found.path)
        return /^(?:https?|mailto):/i.test(href) ? href : undefined
      },
    }
  }
}

export interface PageLinks extends LinkResolver {
  /** The paths of uploads that texts of the page show or link to. */
  shown: Set<string>
}

const ITEM_URL =
  /^(https?:\/\/[^#?]+?)\/(?:-\/)?(?:issues|pulls?|merge_requests)\/(\d{1,9})(?:[/?][^#]*)?(#.*)?$/i

export const isImage = (path: string): boolean => /\.(?:png|jpe?g|gif|webp|avif|bmp)$/i.test(path)

/** A text of a person, with its uploads and reactions. */
export interface Writing {
  body: string | null
  uploads: readonly Upload[]
  reactions: readonly Reaction[]
  headingLevel: number
}

export function writingHtml(path: string, links: PageLinks, writing: Writing): Html {
  const { body, uploads, headingLevel } = writing
  const text = body?.trim() ? renderMarkdown(body, { links, headingLevel }) : undefined
  const others = uploads.filter((upload) => !links.shown.has(upload.path))
  return html`${text && html`<div class="text" dir="auto">${text}</div>\n`}${
    others.length > 0 &&
    html`<ul class="files inline">${others.map((upload) => html`<li>${uploadHtml(path, upload)}</li>`)}</ul>\n`
  }${reactionsHtml(writing.reactions)}`
}

/** Shows an upload that the text before it does not contain. */
function uploadHtml(path: string, upload: Upload): Html {
  const url = relativeUrl(path, upload.path)
  return isImage(upload.path)
    ? html`<a href="${url}"><img src="${url}" alt="${upload.name}" loading="lazy"></a>`
    : html`<a href="${url}" download="${upload.name}">${upload.name}</a>`
}

const EMOJI = new Map(
  Object.entries({
    '+1': '👍',
    '-1': '👎',
    laugh: '😄',
    hooray: '🎉',
    confused: '😕',
    heart: '❤️',
    rocket: '🚀',
    eyes: '👀',
  }),
)

function reactionsHtml(reactions: readonly Reaction[]): Html | undefined {
  if (reactions.length === 0) return undefined
  const groups = Object.entries(Object.groupBy(reactions, ({ content }) => content))
  const chips = groups.map(([content, group = []]) => {
    const people = group.map(({ author }) => author ?? 'ghost').join(', ')
    // Tooltips exist neither on paper nor on phones.
    const shown = group.length <= 5 ? people : group.length
    return html`<li class="reaction" title="${people}"><span role="img" aria-label="${content}">${EMOJI.get(content) ?? content}</span> ${shown}</li>`
  })
  return html`<ul class="reactions inline" aria-label="Reactions">${chips}</ul>\n`
}

/** A label with its colour as a dot, so that its text is readable in every theme. */
export function labelHtml(name: string, color: string | undefined): Html {
  const dot =
    /^[0-9a-f]{6}$/i.test(color ?? '') &&
    html`<svg class="dot" viewBox="0 0 8 8" aria-hidden="true"><circle cx="4" cy="4" r="4" fill="#${color}"/></svg>`
  return html`<span class="label">${dot}<bdi>${name}</bdi></span>`
}
