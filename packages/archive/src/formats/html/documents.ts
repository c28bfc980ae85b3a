import { hash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { posix } from 'node:path'
import type { GitRepository } from '@godwit/git/commits-and-refs'
import { GitFailed } from '@godwit/git/git-process'
import { decodeSegment } from '../../records/record-urls.ts'
import { type Html, html, passiveName, relativeUrl, safeName, uniqueName } from './html.ts'
import { type LinkResolver, renderMarkdown } from './markdown.ts'
import { isImage, type RepositorySite, type Site } from './site.ts'

/** The files of one commit in a bare repository. */
export type GitTree = GitRepository & { commit: string }

type TextFile = { path: string; oid: string }

const MARKDOWN = /\.(?:md|markdown|mdown|mkdn?)$/i
const TEXT =
  /\.(?:md|markdown|mdown|mkdn?|rst|txt|adoc|asciidoc|org|rdoc|textile|mediawiki|wiki|pod)$/i
const MAX_TEXT_BYTES = 4 * 1024 * 1024
const MAX_IMAGE_BYTES = 16 * 1024 * 1024
const MAX_IMAGES = 200

/** Lists the files of a directory, or of the whole tree if it is undefined. Omits large files, symbolic links and submodules. */
async function listFiles(tree: GitTree, directory: string | undefined): Promise<TextFile[]> {
  const { git, dir, commit, signal } = tree
  const where = directory === undefined ? ['-r', commit] : [`${commit}:${directory}`]
  const listed = await git.text(['ls-tree', '-z', '-l', ...where], { dir, signal })
  return listed.split('\0').flatMap((line) => {
    const [, oid, size, path] = /^100\d+ blob (\w+) +(\d+)\t(.+)$/s.exec(line) ?? []
    return oid && path && Number(size) <= MAX_TEXT_BYTES ? [{ path, oid }] : []
  })
}

/** Finds the README where GitHub looks for it, and prefers Markdown. */
export async function findReadme(tree: GitTree): Promise<TextFile | undefined> {
  const { git, dir, commit, signal } = tree
  for (const directory of ['.github', '', 'docs']) {
    const entry = directory && (await git.text(['ls-tree', commit, directory], { dir, signal }))
    // A submodule can have this name too.
    if (directory && !entry.startsWith('040000 tree')) continue
    const files = await listFiles(tree, directory)
    const readmes = files.filter(({ path }) => /^readme(?:\.[^./]+)?$/i.test(path))
    const readme = readmes.find(({ path }) => MARKDOWN.test(path)) ?? readmes[0]
    if (readme) return { ...readme, path: posix.join(directory, readme.path) }
  }
  return undefined
}

interface DocumentOptions {
  /** The path of the page that shows the file. */
  page: string
  repository: RepositorySite
  /** Finds the page that shows the file at this path, for relative links. */
  findPage?(path: string): string | undefined
}

/** Renders a file of a repository, and copies the images of the repository that it shows into the site. */
export async function renderDocument(
  site: Site,
  tree: GitTree,
  file: TextFile,
  { page, repository, findPage }: DocumentOptions,
): Promise<Html> {
  const { git, dir, signal } = tree
  const text = await git.text(['cat-file', 'blob', file.oid], { dir, signal })
  if (!MARKDOWN.test(file.path)) return html`<pre>${text}</pre>`
  const links = site.linksFrom(page, repository)
  // URLs of copied images by their path in the repository. The first rendering only collects the paths.
  const images = new Map<string, string | undefined>()
  const resolve = (href: string) => resolvePath(posix.dirname(file.path), href)
  const resolver: LinkResolver = {
    item: links.item,
    image(src) {
      const path = resolve(src)
      if (path !== undefined && isImage(path) && !images.has(path)) images.set(path, undefined)
      return links.image(src) ?? (path === undefined ? undefined : images.get(path))
    },
    link(href) {
      if (href.startsWith('#')) return `#user-content-${href.slice(1)}`
      const path = resolve(href)
      const found = path === undefined ? undefined : findPage?.(path)
      return found === undefined ? links.link(href) : relativeUrl(page, found)
    },
  }
  const render = () => renderMarkdown(text, { links: resolver, headingLevel: 1, isDocument: true })
  const first = render()
  if (images.size === 0) return first
  for (const path of [...images.keys()].slice(0, MAX_IMAGES)) {
    const content = await readImage(tree, path)
    if (!content) continue
    const digest = hash('sha256', content).slice(0, 16)
    const copy = `${repository.directory}/files/${digest}-${passiveName(posix.basename(path))}`
    await writeFile(await site.preparePath(copy), content)
    images.set(path, relativeUrl(page, copy))
  }
  return render()
}

/** Returns undefined if there is no such file, if it is too large, or if it is only the pointer to an LFS object. */
async function readImage({ git, dir, commit, signal }: GitTree, path: string) {
  try {
    const call = { dir, signal, maxBytes: MAX_IMAGE_BYTES }
    const content = await git.run(['cat-file', 'blob', `${commit}:${path}`], call)
    return content.toString('latin1', 0, 20) === 'version https://git-' ? undefined : content
  } catch (error) {
    signal.throwIfAborted()
    if (!(error instanceof GitFailed)) throw error
    return undefined
  }
}

/** Returns the path in the repository that a relative link leads to, or undefined if it leads elsewhere. */
function resolvePath(folder: string, href: string): string | undefined {
  if (/^(?:[a-z][a-z0-9+.-]*:|#|\/\/)/i.test(href)) return undefined
  const decoded = decodeSegment(href.split(/[?#]/)[0] ?? '')
  const isAbsolute = decoded.startsWith('/')
  const joined = posix.normalize(isAbsolute ? decoded.slice(1) : posix.join(folder, decoded))
  return joined === '.' || joined.startsWith('..') || /[\0\n]/.test(joined) ? undefined : joined
}

export async function writeWiki(
  site: Site,
  tree: GitTree,
  repository: RepositorySite,
  files: readonly TextFile[],
): Promise<void> {
  const pages = wikiPages(files, `${repository.directory}/wiki`)
  const byKey = new Map(pages.map((page) => [wikiKey(page.file.path), page.path]))
  for (const { file, path, title } of pages) {
    tree.signal.throwIfAborted()
    const findPage = (target: string) =>
      byKey.get(wikiKey(target)) ?? byKey.get(wikiKey(posix.basename(target)))
    const options = { page: path, repository, findPage }
    const text = await renderDocument(site, tree, file, options)
    const contents = pages.map(
      (each) =>
        html`<li><a href="${relativeUrl(path, each.path)}"${each.path === path && html` aria-current="page"`}>${each.title}</a></li>\n`,
    )
    const body = html`<h1><bdi>${title}</bdi></h1>
<div class="columns"><div class="text document" dir="auto">${text}</div>
<nav class="contents" aria-label="Pages of the wiki"><ul>
${contents}</ul></nav></div>`
    await site.writePage({ path, title, body, repository })
  }
}

export const listWikiFiles = async (tree: GitTree): Promise<TextFile[]> =>
  (await listFiles(tree, undefined)).filter(({ path }) => TEXT.test(path))

/** Hosts do not distinguish spaces, hyphens and case in links between pages. */
const wikiKey = (path: string): string =>
  path
    .replace(TEXT, '')
    .replace(/[\s-]+/g, '-')
    .toLowerCase()

/** Chooses the page of each file. The home page comes first. */
function wikiPages(files: readonly TextFile[], directory: string) {
  const find = (pattern: RegExp) => files.find(({ path }) => pattern.test(path))
  const home = find(/^home\.\w+$/i) ?? find(/^(?:_?index|readme)\.\w+$/i) ?? files[0]
  const taken = new Set<string>()
  return [...(home ? [home] : []), ...files.filter((file) => file !== home)].map((file) => {
    const title = file.path.replace(TEXT, '').replace(/-/g, ' ')
    const name = file === home ? 'index' : safeName(file.path.replace(TEXT, ''))
    return { file, path: `${directory}/${uniqueName(name, taken)}.html`, title }
  })
}
