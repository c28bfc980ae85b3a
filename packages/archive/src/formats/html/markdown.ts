import createMarkdownIt, {
  type Env,
  type MarkdownIt,
  type RendererRule,
  type StateBlock,
  type StateCore,
  type StateInline,
  type Token,
} from 'markdown-it'
import { escapeHtml, Html, html, showControls } from './html.ts'

/** Finds what the links of a text lead to. The results are URLs: relative to the page, or of the web. */
export interface LinkResolver {
  /** Returns undefined if the link leads nowhere in the site or on the web. Then its address is shown as text. */
  link(href: string): string | undefined
  /** Returns undefined unless the image is a file of the site. */
  image(src: string): string | undefined
  /** Finds an issue or a pull request, by default of the same repository. */
  item(number: number, repository?: string): string | undefined
}

export interface MarkdownOptions {
  links: LinkResolver
  /** The level of the heading that the text belongs to. */
  headingLevel: number
  /** Whether the text is a README or a wiki page: its line breaks do not count, and links lead to its headings. */
  isDocument?: boolean
}

const newState = (options: MarkdownOptions) => ({
  ...options,
  /** The closing tags of the links that are open. */
  closing: [] as string[],
  /** The levels of the current heading and those above it, as they were written. */
  headings: [] as number[],
  /** The element of the heading that is open. */
  headingTag: '',
  slugs: new Map<string, number>(),
  /** A text in which no end of an HTML comment was found, so that it is not searched again. */
  unclosed: undefined as string | undefined,
})

type RenderState = ReturnType<typeof newState>

const stateOf = (env: Env | undefined) => env?.state as RenderState

/** The parser takes quadratic time for some texts: half a minute for the worst of this length. Hosts limit comments to 64 KiB. */
const MAX_LENGTH = 256 * 1024

/** Renders untrusted Markdown. HTML stays text, except for a few harmless elements. */
export function renderMarkdown(text: string, options: MarkdownOptions): Html {
  if (text.length > MAX_LENGTH) return html`<pre>${text}</pre>`
  markdownIt ??= createRenderer()
  markdownIt.set({ breaks: !options.isDocument })
  // Entities such as &#x202e; are decoded by the renderer.
  return new Html(showControls(markdownIt.render(text, { state: newState(options) })))
}

// Created on first use, because most commands render nothing.
let markdownIt: MarkdownIt | undefined

function createRenderer(): MarkdownIt {
  const md = createMarkdownIt({ html: false, linkify: true })
  // E-mail addresses and bare domains stay text, as in most texts they are no links.
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false })
  md.validateLink = (url) => /^(?:https?:\/\/|mailto:)/i.test(url) || isRelative(url)
  md.block.ruler.before('fence', 'html_comment', skipHtmlComment, {
    alt: ['paragraph', 'reference', 'blockquote', 'list'],
  })
  md.inline.ruler.before('html_inline', 'element', parseElement)
  md.inline.ruler.before('link', 'wiki_link', parseWikiLink)
  md.core.ruler.push('task_lists', markTasks)
  md.core.ruler.push('references', linkReferences)
  Object.assign(md.renderer.rules, RULES)
  return md
}

/** Returns false for `//host/path` too, which leads to a network drive if the page is opened from disk. */
const isRelative = (url: string): boolean => !/^(?:[a-z][a-z0-9+.-]*:|[/\\]{2})/i.test(url)

const RULES: Record<string, RendererRule> = {
  link_open(tokens, index, _options, env) {
    const { links, closing } = stateOf(env)
    const { meta, attrs } = tokens[index]!
    const href = String(attrs?.find(([name]) => name === 'href')?.[1] ?? '')
    const target = meta?.target ? String(meta.target) : links.link(href)
    closing.push(target === undefined ? ` (${escapeHtml(href)})</span>` : '</a>')
    return target === undefined ? '<span>' : `<a href="${escapeHtml(target)}">`
  },
  link_close: (_tokens, _index, _options, env) => stateOf(env).closing.pop() ?? '',
  image(tokens, index, options, env, renderer) {
    const { links, closing } = stateOf(env)
    const token = tokens[index]!
    const src = String(token.attrGet('src') ?? '')
    const alt = renderer.renderInlineAsText(token.children ?? [], options, env) || nameIn(src)
    const file = links.image(src)
    const isInLink = closing.length > 0
    const shown = file
      ? html`<img src="${file}" alt="${alt}" loading="lazy">`
      : html`<span class="image">${alt}</span>`
    const target = file ?? links.link(src)
    if (isInLink) return shown.text
    return (target === undefined ? html`${shown} (${src})` : html`<a href="${target}">${shown}</a>`)
      .text
  },
  heading_open(tokens, index, _options, env) {
    const state = stateOf(env)
    const written = Number(tokens[index]!.tag.slice(1))
    while ((state.headings.at(-1) ?? 0) >= written) state.headings.pop()
    state.headings.push(written)
    // Levels are not skipped, so that screen readers can follow the structure of the page.
    state.headingTag = `h${Math.min(6, state.headingLevel + state.headings.length)}`
    const id = state.isDocument ? ` id="${escapeHtml(headingId(state, tokens[index + 1]!))}"` : ''
    return `<${state.headingTag} class="level-${written}"${id}>`
  },
  heading_close: (_tokens, _index, _options, env) => `</${stateOf(env).headingTag}>\n`,
  table_open: () => '<div class="scroll" role="group" aria-label="Table" tabindex="0"><table>',
  th_open: cellHtml,
  td_open: cellHtml,
  table_close: () => '</table></div>\n',
  task: (tokens, index) =>
    `<input type="checkbox" disabled aria-label="${tokens[index]!.content}"${tokens[index]!.content === 'done' ? ' checked' : ''}> `,
}

/** Shows the alignment by class, because the policy of the pages forbids the style attributes of the library. */
function cellHtml(tokens: readonly Token[], index: number): string {
  const { tag } = tokens[index]!
  const [align] = /center|right/.exec(String(tokens[index]!.attrGet('style'))) ?? []
  return align ? `<${tag} class="${align}">` : `<${tag}>`
}

const nameIn = (src: string): string =>
  src
    .replace(/[?#].*$/s, '')
    .split('/')
    .at(-1) || 'image'

/** Returns the id that GitHub gives a heading. Its prefix makes it differ from all ids of the page itself. */
function headingId({ slugs }: RenderState, inline: Token): string {
  const text = (inline.children ?? []).map(({ content }) => content).join('')
  const slug = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}_\s-]/gu, '')
    .replace(/\s/g, '-')
  const count = slugs.get(slug) ?? 0
  slugs.set(slug, count + 1)
  return `user-content-${slug}${count ? `-${count}` : ''}`
}

/** Returns where the HTML comment that begins at `from` ends, or -1. */
function endOfHtmlComment(state: RenderState, text: string, from: number): number {
  if (state.unclosed === text) return -1
  const end = text.indexOf('-->', from)
  if (end < 0) state.unclosed = text
  return end
}

/** Hosts do not show HTML comments. The templates of issues contain many. */
function skipHtmlComment(state: StateBlock, line: number, endLine: number, silent: boolean) {
  const start = state.bMarks[line]! + state.tShift[line]!
  const isCode = state.sCount[line]! - state.blkIndent >= 4
  if (isCode || !state.src.startsWith('<!--', start)) return false
  const end = endOfHtmlComment(stateOf(state.env), state.src, start)
  if (end < 0) return false
  let last = line
  while (last < endLine && state.eMarks[last]! < end) last++
  if (last >= endLine || state.src.slice(end + 3, state.eMarks[last]).trim()) return false
  if (!silent) state.line = last + 1
  return true
}

const ELEMENT =
  /<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>=]+))?)*)\s*\/?>/iy
/** Elements whose tags are left out, because their text can be understood without them. */
const PLAIN_ELEMENTS = new Set([
  ...['b', 'big', 'blockquote', 'center', 'code', 'dd', 'del', 'details', 'div', 'dl', 'dt', 'em'],
  ...['figcaption', 'figure', 'font', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'i', 'ins', 'kbd', 'ol'],
  ...['p', 'picture', 'pre', 'q', 's', 'samp', 'small', 'source', 'span', 'strong', 'sub'],
  ...['summary', 'sup', 'table', 'tbody', 'thead', 'tt', 'u', 'ul', 'var', 'td', 'th'],
])
const LINE_ELEMENTS = new Set(['br', 'hr', 'li', 'tr'])

/** Renders images, links and line breaks that are written as HTML, and leaves out the tags of other known elements. */
function parseElement(state: StateInline, silent: boolean): boolean {
  const { src, pos } = state
  if (src.startsWith('<!--', pos)) {
    const end = endOfHtmlComment(stateOf(state.env), src, pos)
    if (end < 0 || end + 3 > state.posMax) return false
    state.pos = end + 3
    return true
  }
  ELEMENT.lastIndex = pos
  const [tag, slash, written = '', attributes = ''] = ELEMENT.exec(src) ?? []
  const name = written.toLowerCase()
  if (!tag || pos + tag.length > state.posMax) return false
  const end = pos + tag.length
  if (name === 'img') return addImage(state, end, attributes, silent)
  if (name === 'a' && !slash) return addLink(state, end, attributes, silent)
  if (!PLAIN_ELEMENTS.has(name) && !LINE_ELEMENTS.has(name)) return false
  if (!silent && LINE_ELEMENTS.has(name) && !slash) state.push('hardbreak', 'br', 0)
  if (!silent && (name === 'td' || name === 'th')) state.pending += ' '
  state.pos = end
  return true
}

/** Returns the value of an attribute, or undefined if it is not set. */
function attribute(attributes: string, name: string): string | undefined {
  const pattern = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"']+))`, 'i')
  const [, double, single, bare] = pattern.exec(attributes) ?? []
  return double ?? single ?? bare
}

function addImage(state: StateInline, end: number, attributes: string, silent: boolean): boolean {
  const src = attribute(attributes, 'src')
  if (src === undefined || !state.md.validateLink(src)) return false
  if (!silent) {
    const token = state.push('image', 'img', 0)
    token.attrs = [['src', state.md.normalizeLink(src)]]
    const alt = new state.Token('text', '', 0)
    alt.content = attribute(attributes, 'alt') ?? ''
    token.children = [alt]
  }
  state.pos = end
  return true
}

function addLink(state: StateInline, end: number, attributes: string, silent: boolean): boolean {
  const href = attribute(attributes, 'href')
  const close = state.src.indexOf('</a>', end)
  if (href === undefined || !state.md.validateLink(href) || state.linkLevel > 0) return false
  if (close < 0 || close + 4 > state.posMax) return false
  if (!silent) {
    const max = state.posMax
    state.push('link_open', 'a', 1).attrs = [['href', state.md.normalizeLink(href)]]
    state.pos = end
    state.posMax = close
    state.linkLevel++
    state.md.inline.tokenize(state)
    state.linkLevel--
    state.posMax = max
    state.push('link_close', 'a', -1)
  }
  state.pos = close + 4
  return true
}

const WIKI_LINK = /\[\[([^[\]|\n]+)(?:\|([^[\]|\n]+))?\]\]/y

/** `[[Page]]` and `[[text|Page]]` are links in wikis. */
function parseWikiLink(state: StateInline, silent: boolean): boolean {
  const { isDocument, links } = stateOf(state.env)
  if (!isDocument || state.src.charCodeAt(state.pos) !== 0x5b || state.linkLevel > 0) return false
  WIKI_LINK.lastIndex = state.pos
  const [all, text, page = text] = WIKI_LINK.exec(state.src) ?? []
  const target = page && links.link(encodeURIComponent(page.trim()))
  if (!all || !text || !target) return false
  if (!silent) addReference(state, target, text)
  state.pos += all.length
  return true
}

/** Adds a link to a page of the site. */
function addReference(state: Pick<StateInline, 'push'>, target: string, text: string): void {
  state.push('link_open', 'a', 1).meta = { target }
  state.push('text', '', 0).content = text
  state.push('link_close', 'a', -1)
}

/** Shows list items that begin with [ ] or [x] as a checkbox. */
function markTasks({ tokens, Token }: StateCore): void {
  for (const [index, { type, children }] of tokens.entries()) {
    const item = tokens[index - 2]
    if (type !== 'inline' || item?.type !== 'list_item_open') continue
    const [first] = children ?? []
    const [, mark] = /^\[([ xX])\](?=\s)/.exec(first?.type === 'text' ? first.content : '') ?? []
    if (!first || mark === undefined) continue
    const task = new Token('task', 'input', 0)
    task.content = mark === ' ' ? 'to do' : 'done'
    first.content = first.content.slice(4)
    children!.unshift(task)
    item.attrJoin('class', 'task')
  }
}

const REFERENCE = /(?<![\w/&#.-])([\w.-]+\/[\w.-]+)?#(\d{1,9})(?!\w)/g

/** Links `#12` and `owner/name#3` to pages of the site. */
function linkReferences({ tokens, env, Token }: StateCore): void {
  const { links } = stateOf(env)
  for (const token of tokens) {
    let depth = 0
    const linked: Token[] = []
    const push = (type: string, tag: string, nesting: -1 | 0 | 1) => {
      const added = new Token(type, tag, nesting)
      linked.push(added)
      return added
    }
    for (const child of token.children ?? []) {
      if (child.type.startsWith('link_')) depth += child.nesting
      let end = 0
      if (child.type === 'text' && depth === 0 && child.content.includes('#'))
        for (const found of child.content.matchAll(REFERENCE)) {
          const { 0: text, 1: repository, 2: number, index } = found
          const target = links.item(Number(number), repository)
          if (target === undefined) continue
          push('text', '', 0).content = child.content.slice(end, index)
          addReference({ push }, target, text)
          end = index + text.length
        }
      child.content = child.content.slice(end)
      linked.push(child)
    }
    if (token.children) token.children = linked
  }
}
