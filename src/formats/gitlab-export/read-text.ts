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

const REFERENCE = new RegExp(
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
export function rewriteText(
  text: string,
  here: ProjectNames,
  projects: ReadonlyMap<string, ProjectNames>,
): string {
  if (!/[!#@~%]|\/uploads\//.test(text)) return text
  return rewriteOutsideCode(text, (prose) =>
    prose.replace(REFERENCE, (match, ...groups) => rewriteReference(match, groups, here, projects)),
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
