import { rewriteOutsideCode } from '../find-code.ts'

/** What links to the old host are changed to. */
export interface LinkTargets {
  /** The new full name of a repository by its old URL in lower case, such as `https://github.com/alice/site`. */
  byUrl: ReadonlyMap<string, string>
  longestUrl: number
  /** The new full name by the old one in lower case, where they differ. */
  renamed: ReadonlyMap<string, string>
  /** The address of an attachment on the old host, by its UUID. */
  attachments: ReadonlyMap<string, string>
  /** Returns undefined if the archive has no such issue or pull request. `fullName` is the new one. */
  kindOf(fullName: string, number: number): 'issue' | 'pull_request' | undefined
  /** The server's URL with a trailing slash, or `/` if it is not known. */
  base: string
}

/** Returns the targets for repositories with these names, and with the URLs that `urlOf` returns or '' for unknown ones. */
export function linkTargets(
  names: Iterable<{ oldName: string; newName: string }>,
  urlOf: (oldName: string) => string,
  others: Pick<LinkTargets, 'attachments' | 'kindOf' | 'base'>,
): LinkTargets {
  const [byUrl, renamed] = [new Map<string, string>(), new Map<string, string>()]
  for (const { oldName, newName } of names) {
    const url = urlOf(oldName)
    if (url) byUrl.set(url.toLowerCase(), newName)
    if (newName !== oldName) renamed.set(oldName.toLowerCase(), newName)
  }
  const longestUrl = byUrl.keys().reduce((longest, { length }) => Math.max(longest, length), 0)
  return { ...others, byUrl, renamed, longestUrl }
}

export const URLS = /https?:\/\/[^\s<>"'`()[\]{}|\\^]+/gi
/** Matches `owner/name` in references such as `owner/name#12` and `owner/name@0123abc`. */
const SHORT_REFERENCES = /(?<![\w./@-])([\w.-]+\/[\w.-]+)(?=#\d+\b|@[0-9a-f]{7,40}\b)/g

/**
 * Returns a text with its links to the archive's repositories changed to the server. `#12` and code stay as they are. `here` is the
 * new full name of the repository that the text belongs to.
 */
export function rewriteLinks(text: string, here: string, targets: LinkTargets): string {
  if (!text.includes('/')) return text
  return rewriteOutsideCode(text, (prose) =>
    prose.includes('/') ? rewriteProse(prose, here, targets) : prose,
  )
}

/** Matches the start of a URL that an archive has instead of that of an attachment, because GitHub's importers expect it. */
const ATTACHMENT = /^[^?#]*\/user-attachments\/assets\/([0-9a-f-]{36})/i

/** Returns a text with the addresses of attachments on the old host, as before the export. Code has been changed then, too. */
export function restoreAttachmentUrls(text: string, { attachments }: LinkTargets): string {
  if (attachments.size === 0 || !text.includes('/user-attachments/')) return text
  return text.replace(URLS, (url) =>
    url.replace(ATTACHMENT, (start, uuid: string) => attachments.get(uuid.toLowerCase()) ?? start),
  )
}

function rewriteProse(text: string, here: string, targets: LinkTargets): string {
  const rename = (name: string) => targets.renamed.get(name.toLowerCase()) ?? name
  const renamed = targets.renamed.size === 0 ? text : text.replace(SHORT_REFERENCES, rename)
  return renamed.replace(URLS, (found, at: number, all: string) => {
    const url = withoutPunctuation(found)
    const punctuation = found.slice(url.length)
    return (rewriteUrl(url, here, targets, isLinkDestination(all, at)) ?? url) + punctuation
  })
}

/** Removes punctuation at the end. A regular expression would take quadratic time here. */
export function withoutPunctuation(found: string): string {
  let end = found.length
  while (end > 0 && '.,;:!?*_'.includes(found[end - 1]!)) end -= 1
  return found.slice(0, end)
}

/** Returns whether a URL is in [text](…), [1]: …, <…> or href="…", where it cannot be replaced by `owner/name#12`. */
function isLinkDestination(text: string, at: number): boolean {
  if (/^(?:\]\(|.?<|.?=|=["'])$/s.test(text.slice(Math.max(0, at - 2), at))) return true
  let end = at
  while (end > 0 && /\s/.test(text[end - 1]!)) end -= 1
  return text.slice(Math.max(0, end - 2), end) === ']:'
}

/** Returns what replaces the URL, or undefined if it does not lead into the archive. */
function rewriteUrl(url: string, here: string, targets: LinkTargets, mustBeUrl: boolean) {
  const found = repositoryAt(url, targets)
  if (!found) return undefined
  const link = newLink(found.fullName, found.path, targets)
  if (!link) return undefined
  if (mustBeUrl) return targets.base + link.path
  if (link.short === undefined) return `[${url}](${targets.base}${link.path})`
  return found.fullName === here ? link.short.replace(/^@/, '') : `${found.fullName}${link.short}`
}

/** Finds the repository that a URL leads to. Tries every prefix of the URL, because that of the host may have a path. */
function repositoryAt(url: string, { byUrl, longestUrl }: LinkTargets) {
  for (const { index: end } of url.matchAll(/[/#?]|$/g)) {
    if (end > longestUrl + '.git'.length) break
    const fullName = byUrl.get(
      url
        .slice(0, end)
        .replace(/\.git$/, '')
        .toLowerCase(),
    )
    if (fullName !== undefined) return { fullName, path: url.slice(end) }
  }
  return undefined
}

/** Matches pages that have the same path on the server. Those of files are Gitea's own form. */
const SAME_PATHS =
  /^\/(?:(?:src|raw|media|blame|commits)\/(?:branch|tag|commit)|compare|wiki|releases\/(?:tag|download))\/[^?#]+(?:\?[^#]*)?(?:#.*)?$/

const ITEM_PATH =
  /^\/(?:issues|pulls?)\/(\d+)(?:\/(?:files|commits)(?:\/[0-9a-f]+)?)?\/?(?:[?#].*)?$/
const FILE_PATH =
  /^\/(blob|tree|src|raw|blame|commits)\/([^/?#]+)((?:\/[^?#]*)?(?:#L\d+(?:-L\d+)?)?)$/

interface NewLink {
  path: string
  /** What follows the full name in the short form, such as `#12` or `@0123abc`. Undefined if there is no short form. */
  short?: string
}

/** Returns undefined if the archive does not contain the target. */
function newLink(fullName: string, rest: string, targets: LinkTargets): NewLink | undefined {
  const [, number] = ITEM_PATH.exec(rest) ?? []
  if (number !== undefined) {
    const kind = targets.kindOf(fullName, Number(number))
    const page = kind === 'issue' ? 'issues' : 'pulls'
    return kind && { path: `${fullName}/${page}/${number}`, short: `#${number}` }
  }
  const [, commit] = /^\/commit\/([0-9a-f]{7,40})\/?(?:[?#].*)?$/.exec(rest) ?? []
  if (commit !== undefined) return { path: `${fullName}/commit/${commit}`, short: `@${commit}` }
  if (SAME_PATHS.test(rest)) return { path: `${fullName}${rest}` }
  const [, page, ref, file] = FILE_PATH.exec(rest) ?? []
  if (page !== undefined && ref !== undefined) {
    const kind = /^[0-9a-f]{40}$/.test(ref) ? 'commit' : 'branch'
    return { path: `${fullName}/${page.replace(/^(?:blob|tree)$/, 'src')}/${kind}/${ref}${file}` }
  }
  return /^\/?$/.test(rest) ? { path: fullName } : undefined
}
