/** The targets of links that are changed. */
export interface LinkTargets {
  /** The new full name of a repository by its old address in lower case, such as `https://github.com/alice/site`. */
  byAddress: ReadonlyMap<string, string>
  /** The length of the longest of these addresses. */
  longestAddress: number
  /** The new full name by the old one in lower case, where they differ. */
  renamed: ReadonlyMap<string, string>
  /** Returns undefined if the archive has no such issue or pull request. `fullName` is the new one. */
  kindOf(fullName: string, number: number): 'issue' | 'pull_request' | undefined
  /** The server's URL with a trailing slash, or `/` if it is not known. */
  base: string
}

const ADDRESS = /https?:\/\/[^\s<>"'`()[\]{}|\\^]+/gi
const SHORT = /(?<![\w./@-])([\w.-]+\/[\w.-]+)(?=#\d+\b|@[0-9a-f]{7,40}\b)/g

/** Returns a text with its links to the archive's repositories changed to the server. `#12` and code stay as they are. */
export function rewriteLinks(text: string, here: string, targets: LinkTargets): string {
  if (!text.includes('/')) return text
  let [rewritten, copied, at] = ['', 0, 0]
  const rewriteUpTo = (end: number) => {
    const words = text.slice(at, end)
    if (!words.includes('/')) return
    const changed = rewriteWords(words, here, targets)
    // Unchanged text is copied in one piece later.
    if (changed === words) return
    rewritten += text.slice(copied, at) + changed
    copied = end
  }
  for (const code of findCode(text)) {
    rewriteUpTo(code.start)
    at = code.end
  }
  rewriteUpTo(text.length)
  return rewritten + text.slice(copied)
}

function rewriteWords(words: string, here: string, targets: LinkTargets): string {
  const renamed = targets.renamed.size === 0 ? words : renameShort(words, targets)
  return renamed.replace(ADDRESS, (found, at: number, all: string) => {
    const address = withoutPunctuation(found)
    const rest = found.slice(address.length)
    return (rewriteAddress(address, here, targets, isDestination(all, at)) ?? address) + rest
  })
}

/** Removes punctuation at the end. A regular expression would take quadratic time here. */
function withoutPunctuation(found: string): string {
  let end = found.length
  while (end > 0 && '.,;:!?*_'.includes(found[end - 1]!)) end -= 1
  return found.slice(0, end)
}

/** Returns whether a URL is in [text](…), [1]: …, <…> or href="…", where it cannot be replaced by `owner/name#12`. */
function isDestination(text: string, at: number): boolean {
  if (/^(?:\]\(|.?<|.?=|=["'])$/s.test(text.slice(Math.max(0, at - 2), at))) return true
  let end = at
  while (end > 0 && /\s/.test(text[end - 1]!)) end -= 1
  return text.slice(Math.max(0, end - 2), end) === ']:'
}

function renameShort(words: string, { renamed }: LinkTargets): string {
  return words.replace(SHORT, (name) => renamed.get(name.toLowerCase()) ?? name)
}

function rewriteAddress(
  address: string,
  here: string,
  targets: LinkTargets,
  isDestination: boolean,
): string | undefined {
  const found = repositoryAt(address, targets)
  if (!found) return undefined
  const link = newLink(found.fullName, found.path, targets)
  if (!link) return undefined
  if (isDestination) return targets.base + link.path
  if (link.short === undefined) return `[${address}](${targets.base}${link.path})`
  return found.fullName === here ? link.short.replace(/^@/, '') : `${found.fullName}${link.short}`
}

/** Tries every prefix, because the URL of a host may have a path. */
function repositoryAt(
  address: string,
  { byAddress, longestAddress }: LinkTargets,
): { fullName: string; path: string } | undefined {
  for (const { index: end } of address.matchAll(/[/#?]|$/g)) {
    if (end > longestAddress + '.git'.length) break
    const fullName = byAddress.get(
      address
        .slice(0, end)
        .replace(/\.git$/, '')
        .toLowerCase(),
    )
    if (fullName !== undefined) return { fullName, path: address.slice(end) }
  }
  return undefined
}

interface NewLink {
  path: string
  /** The short form, such as `#12` or `@0123abc`, if there is one. */
  short?: string
}

/** Returns undefined if the archive does not contain the target. */
function newLink(fullName: string, rest: string, targets: LinkTargets): NewLink | undefined {
  const [, number] =
    /^\/(?:issues|pulls?)\/(\d+)(?:\/(?:files|commits))?\/?(?:[?#].*)?$/.exec(rest) ?? []
  if (number !== undefined) {
    const kind = targets.kindOf(fullName, Number(number))
    const page = kind === 'issue' ? 'issues' : 'pulls'
    return kind && { path: `${fullName}/${page}/${number}`, short: `#${number}` }
  }
  const [, commit] = /^\/commit\/([0-9a-f]{7,40})\/?(?:[?#].*)?$/.exec(rest) ?? []
  if (commit !== undefined) return { path: `${fullName}/commit/${commit}`, short: `@${commit}` }
  const [, ref, file] =
    /^\/(?:blob|tree)\/([^/?#]+)((?:\/[^?#]*)?(?:#L\d+(?:-L\d+)?)?)$/.exec(rest) ?? []
  if (ref !== undefined) {
    const kind = /^[0-9a-f]{40}$/.test(ref) ? 'commit' : 'branch'
    return { path: `${fullName}/src/${kind}/${ref}${file}` }
  }
  if (/^\/(?:wiki|releases\/tag)\/[^?#]+$/.test(rest)) return { path: `${fullName}${rest}` }
  return /^\/?$/.test(rest) ? { path: fullName } : undefined
}

/** Matches a fence, or backticks that may begin inline code. */
const OPENING = /^ {0,3}(`{3,}|~{3,})|`+/gm
const CLOSING_FENCE = /^ {0,3}([`~]{3,})[ \t]*$/gm
const BACKTICKS = /`+/g

/** Yields the ranges of code in a text, in order. It takes linear time for any text, because the text is untrusted. */
export function* findCode(text: string): Generator<{ start: number; end: number }> {
  const last = lastOfEachLength(text)
  for (let at = 0; ; ) {
    const found = matchFrom(OPENING, text, at)
    if (!found) return
    const { 0: all, 1: fence, index: start } = found
    at = start + all.length
    // The search for the end is skipped if it cannot succeed. Otherwise the next one begins behind its result.
    if (fence === undefined && last.get(all.length)! < at) continue
    at = fence === undefined ? afterBackticks(text, at, all.length) : afterFence(text, at, fence)
    yield { start, end: at }
  }
}

/** Returns the index of the last run of backticks of each length. Only a run of the same length ends inline code. */
function lastOfEachLength(text: string): Map<number, number> {
  const last = new Map<number, number>()
  for (let at = 0; ; ) {
    const found = matchFrom(BACKTICKS, text, at)
    if (!found) return last
    last.set(found[0].length, found.index)
    at = found.index + found[0].length
  }
}

function afterBackticks(text: string, from: number, length: number): number {
  for (let at = from; ; ) {
    const found = matchFrom(BACKTICKS, text, at)
    if (!found) return text.length
    at = found.index + found[0].length
    if (found[0].length === length) return at
  }
}

/** A fence that is not closed extends to the end of the text. */
function afterFence(text: string, from: number, fence: string): number {
  for (let at = from; ; ) {
    const found = matchFrom(CLOSING_FENCE, text, at)
    if (!found) return text.length
    at = found.index + found[0].length
    if (found[1]!.startsWith(fence)) return at
  }
}

function matchFrom(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at
  return pattern.exec(text)
}
