import { decodeSegment } from '../../records/record-urls.ts'
import { rewriteOutsideCode } from '../find-code.ts'

/** What texts of a project refer to, and the new names and numbers of these. */
export interface ProjectNames {
  /** `OWNER/NAME`. */
  fullName: string
  /** The highest number of an issue. The new number of a merge request is its old one plus this. */
  offset: number
  /** The numbers of merge requests in GitLab. */
  mergeRequests: ReadonlySet<number>
  labels: ReadonlySet<string>
  /** The title by the title, and by the number in GitLab. */
  milestones: ReadonlyMap<string, string>
  /** The new login by the username in GitLab. */
  logins: ReadonlyMap<string, string>
  /** The new URL of an upload by its path. */
  uploads: ReadonlyMap<string, string>
}

/**
 * Matches a link to an upload, which can begin with the address or the path of a project, and captures the path of its file in the
 * export, which may be URL-encoded. A match begins only where a path does, so that it takes linear time for any text.
 */
export const UPLOAD =
  /(?<![\w.~/-])(?:https?:\/\/[\w.-]{1,253}(?::\d{1,5})?)?(?:\/[\w.~-]{1,255}){0,30}?\/(uploads\/(?:[0-9a-f]{32}|[0-9a-f]{10})\/[^\s()"'<>[\]`]{1,255})/g

const GITLAB_REFERENCE = new RegExp(
  [
    UPLOAD.source,
    // `!12`, `#12`, `project!12` and `group/project#12`.
    /(?<![\w./#!&@-])((?:[\w.-]{1,100}\/){0,20}[\w.-]{1,100})?([!#])(\d{1,9})(?!\w)/.source,
    // `@user`, without a period that ends the sentence.
    /(?<![\w@./-])@(\w[\w.-]{0,254})(?<!\.)/.source,
    // `~label`, `~"two words"`, `%milestone` and `%12`.
    /(?<![\w~/])([~%])(?:"([^"\n]{1,255})"|(\w[\w:.?-]{0,254})(?<![:.?]))/.source,
  ].join('|'),
  'g',
)

/** Returns a text with GitLab's references and links to uploads in GitHub's form. Code stays as it is. */
export function rewriteFromGitLab(
  text: string,
  here: ProjectNames,
  projects: ReadonlyMap<string, ProjectNames>,
): string {
  if (!/[!#@~%]|\/uploads\//.test(text)) return text
  return rewriteOutsideCode(text, (prose) =>
    prose.replace(GITLAB_REFERENCE, (match, ...groups) =>
      rewriteReference(match, groups, here, projects),
    ),
  )
}

function rewriteReference(
  match: string,
  groups: readonly unknown[],
  here: ProjectNames,
  projects: ReadonlyMap<string, ProjectNames>,
): string {
  const [upload, path, sign, number, login, mark, quoted, word] = groups as (string | undefined)[]
  if (upload !== undefined) return here.uploads.get(decodeSegment(upload)) ?? match
  // An account of the target may have the name `all`, and would be notified.
  if (login !== undefined) return login === 'all' ? '`@all`' : `@${here.logins.get(login) ?? login}`
  const name = quoted ?? word ?? ''
  if (mark === '~') return here.labels.has(name) && !name.includes('`') ? `\`${name}\`` : match
  if (mark === '%') return here.milestones.get(name) ?? match
  const project = path === undefined ? here : projects.get(path.split('/').at(-1)!.toLowerCase())
  if (!project) return match
  const prefix = path === undefined ? '' : project.fullName
  if (sign === '!')
    return project.mergeRequests.has(Number(number))
      ? `${prefix}#${project.offset + Number(number)}`
      : match
  // GitLab links only numbers that exist, and this one may now be that of a merge request.
  const isTaken = project.mergeRequests.has(Number(number) - project.offset)
  return isTaken ? `${prefix || 'issue'} ${number}` : `${prefix}#${number}`
}

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
export function rewriteForGitLab(text: string, here: string, targets: TextTargets): string {
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
