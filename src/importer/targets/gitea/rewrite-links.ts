/** What links can lead to. */
export interface LinkTargets {
  /** The new full name of a repository by its old address in lower case, such as `https://github.com/alice/site`. */
  byAddress: ReadonlyMap<string, string>
  /** How many characters the longest of these addresses has. */
  longestAddress: number
  /** The new full name by the old one in lower case, where they differ. */
  renamed: ReadonlyMap<string, string>
  /** Whether an issue or a pull request is in the archive, and which; the name is the new one. */
  kindOf(fullName: string, number: number): 'issue' | 'pull_request' | undefined
  /** The server's own address with a slash at its end; without it, links begin at its root. */
  base: string
}

const ADDRESS = /https?:\/\/[^\s<>"'`()[\]{}|\\^]+/gi
const SHORT = /(?<![\w./@-])([\w.-]+\/[\w.-]+)(?=#\d+\b|@[0-9a-f]{7,40}\b)/g

/**
 * Text of people in which references to what is in the archive lead to the new place. `#12` means the same there. Code is
 * left alone.
 */
export function rewriteLinks(text: string, here: string, targets: LinkTargets): string {
  if (!text.includes('/')) return text
  let [rewritten, copied, at] = ['', 0, 0]
  const rewriteUpTo = (end: number) => {
    const words = text.slice(at, end)
    if (!words.includes('/')) return
    const changed = rewriteWords(words, here, targets)
    // What stays as it is, is copied in few pieces.
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
    return (newPlace(address, here, targets, isDestination(all, at)) ?? address) + rest
  })
}

/** At its end. A pattern would begin anew at every mark within it. */
function withoutPunctuation(found: string): string {
  let end = found.length
  while (end > 0 && '.,;:!?*_'.includes(found[end - 1]!)) end -= 1
  return found.slice(0, end)
}

/** As in [text](…), [1]: …, <…> and href="…": there only an address will do. */
function isDestination(text: string, at: number): boolean {
  if (/^(?:\]\(|.?<|.?=|=["'])$/s.test(text.slice(Math.max(0, at - 2), at))) return true
  let end = at
  while (end > 0 && /\s/.test(text[end - 1]!)) end -= 1
  return text.slice(Math.max(0, end - 2), end) === ']:'
}

function renameShort(words: string, { renamed }: LinkTargets): string {
  return words.replace(SHORT, (name) => renamed.get(name.toLowerCase()) ?? name)
}

function newPlace(
  address: string,
  here: string,
  targets: LinkTargets,
  isDestination: boolean,
): string | undefined {
  const found = repositoryAt(address, targets)
  if (!found) return undefined
  const place = placeIn(found.fullName, found.path, targets)
  if (!place) return undefined
  if (isDestination) return targets.base + place.path
  if (place.short === undefined) return `[${address}](${targets.base}${place.path})`
  return found.fullName === here ? place.short.replace(/^@/, '') : `${found.fullName}${place.short}`
}

/** Where hosts are below a path, an owner's name may be any part of it. */
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

interface Place {
  path: string
  /** How people write it, where they have a way: `#12`, `@0123abc`. */
  short?: string
}

/** Undefined where the archive does not hold it. */
function placeIn(fullName: string, rest: string, targets: LinkTargets): Place | undefined {
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

/** A fence, or the backticks that may begin code within a line. */
const OPENING = /^ {0,3}(`{3,}|~{3,})|`+/gm
const CLOSING_FENCE = /^ {0,3}([`~]{3,})[ \t]*$/gm
const BACKTICKS = /`+/g

/**
 * Where the code of a text is, in order. Anybody may have written the text: each part of it is looked at a fixed number of
 * times, whatever it says.
 */
export function* findCode(text: string): Generator<{ start: number; end: number }> {
  const last = lastOfEachLength(text)
  for (let at = 0; ; ) {
    const found = matchFrom(OPENING, text, at)
    if (!found) return
    const { 0: all, 1: fence, index: start } = found
    at = start + all.length
    // A search either succeeds, and goes on behind what it found, or is not begun.
    if (fence === undefined && last.get(all.length)! < at) continue
    at = fence === undefined ? afterBackticks(text, at, all.length) : afterFence(text, at, fence)
    yield { start, end: at }
  }
}

/** Where backticks of a length stand for the last time: behind that, nothing closes what as many of them begin. */
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

/** A fence that nothing closes goes on to the end. */
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
