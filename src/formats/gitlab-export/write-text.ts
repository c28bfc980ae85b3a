import { rewriteOutsideCode } from '../find-code.ts'

/** Finds what links and references in a text refer to. */
interface TextTargets {
  /** Returns whether a number is that of a pull request. `repository` is `owner/name` in lower case. */
  isPull(repository: string, number: number): boolean
  /** Returns the attachment that a UUID without hyphens, or `files/ID`, stands for. */
  upload(key: string): Upload | undefined
}

export interface Upload {
  /** `/uploads/HEX/NAME`. */
  url: string
  name: string
  isMedia: boolean
}

/** Matches `#12`, `GH-12` and `owner/name#12`. */
const REFERENCE = /(?<![\w/#&.!-])([\w.-]+\/[\w.-]+)?(?:#|\bGH-)(\d{1,9})(?!\w)/g
/** Matches what identifies an attachment in its URL: a UUID, or `/files/ID/`. */
const ATTACHMENT = /[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}|\/files\/\d+\//gi
const NOT_IN_URL = /[\s<>"'`()[\]{}|\\^]/

/**
 * Returns a text with references to pull requests (`#12` becomes `!12`) and links to attachments in GitLab's form. Code stays as it
 * is. `here` is the repository of the text, in lower case.
 */
export function rewriteText(text: string, here: string, targets: TextTargets): string {
  return rewriteOutsideCode(text, (words) => rewriteWords(words, here, targets))
}

function rewriteWords(words: string, here: string, targets: TextTargets): string {
  return rewriteLinks(words, targets).replace(
    REFERENCE,
    (reference, repository: string | undefined, number: string) =>
      targets.isPull(repository?.toLowerCase() ?? here, Number(number))
        ? `${repository ?? ''}!${number}`
        : reference.replace('GH-', '#'),
  )
}

/** Replaces each URL that contains the key of an attachment. It takes linear time for any text, because it looks at a word once. */
function rewriteLinks(words: string, { upload }: TextTargets): string {
  let [rewritten, copied, seen] = ['', 0, 0]
  for (const { 0: match, index } of words.matchAll(ATTACHMENT)) {
    const key = match.toLowerCase().replaceAll(/-|^\/|\/$/g, '')
    const found = index < seen ? undefined : upload(key)
    if (!found) continue
    let [start, end] = [index, index + match.length]
    while (start > seen && !NOT_IN_URL.test(words[start - 1]!)) start--
    while (end < words.length && !NOT_IN_URL.test(words[end]!)) end++
    seen = end
    // Only an absolute URL or an absolute path is a link.
    if (!/^(?:https?:\/)?\//i.test(words.slice(start, index + 1))) continue
    const link = `${found.isMedia ? '!' : ''}[${found.name.replace(/[[\]\\]/g, '_')}](${found.url})`
    const before = words.slice(Math.max(0, start - 9), start)
    const isDestination = /(?:\]\(|["'=]|\]:\s*)$/.test(before)
    rewritten += words.slice(copied, start) + (isDestination ? found.url : link)
    copied = end
  }
  return rewritten + words.slice(copied)
}
