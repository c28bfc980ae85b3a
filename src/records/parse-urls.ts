import { parsed, type Shape } from '../lib/json-shape.ts'
import { isForeignName } from '../lib/names.ts'
import {
  type Author,
  type IssueOrPull,
  MAX_ITEM_NUMBER,
  type Reviewer,
  type TeamName,
} from './fact.ts'
import { pathInArchive } from './record-urls.ts'

/**
 * Parses the URLs in records. Only the end of a URL is examined, so the host and any path before the owner's name do not matter.
 * The paths of other exporters are accepted as well as GitHub's.
 */

const ISSUE_OR_PULL = /^(.+)\/(issues|pull|pulls|pull-requests|merge_requests)\/([1-9]\d*)$/
const TEAM = /(?:^|\/)orgs\/([^/]+)\/teams\/([^/]+)$/
const APP = /(?:^|\/)apps\/([^/]+)$/

/** Also accepts pages within an issue or a pull request, such as `…/pull/3/files#r5`. */
function parseIssueOrPull(url: string): ({ repository: string } & IssueOrPull) | undefined {
  const page = url.replace(/[#?].*$/s, '').replace(/\/(files|commits|diffs)$/, '')
  const [, base, kind, number] = ISSUE_OR_PULL.exec(page) ?? []
  // GitLab has `/-/` after the repository.
  const repository = base && (parseRepository(base.replace(/\/-$/, '')) ?? parseRepository(base))
  if (!repository || Number(number) > MAX_ITEM_NUMBER) return undefined
  return { repository, kind: kind === 'issues' ? 'issue' : 'pull_request', number: Number(number) }
}

function parseRepository(url: string): string | undefined {
  const [owner = '', name = ''] = pathSegments(url).slice(-2)
  return isForeignName(owner) && isForeignName(name) ? `${owner}/${name}` : undefined
}

function parseLogin(url: string): string | undefined {
  const app = APP.exec(url)?.[1]
  const login = app === undefined ? pathSegments(url).at(-1) : `${decodeSegment(app)}[bot]`
  return login !== undefined && isForeignName(login) ? login : undefined
}

/** Returns the decoded segments of the path. A relative URL such as `./alice` has no host. */
function pathSegments(url: string): string[] {
  const path = url.replace(/^[a-z+.-]+:\/\/[^/]*/i, '').replace(/[#?].*$/s, '')
  return path
    .split('/')
    .flatMap((segment) => (segment === '' || segment === '.' ? [] : decodeSegment(segment)))
}

function parseTeam(url: string): TeamName | undefined {
  const [organization = '', slug = ''] = (TEAM.exec(url)?.slice(1) ?? []).map(decodeSegment)
  return isForeignName(organization) && isForeignName(slug) ? { organization, slug } : undefined
}

/** Returns the number at the end of a URL such as `…#issuecomment-12`. */
function parseTrailingNumber(url: string): number | undefined {
  const digits = /(\d+)$/.exec(url)?.[1]
  // Longer numbers may exceed Number.MAX_SAFE_INTEGER. No host begins with 0.
  return digits === undefined || digits.length > 15 ? undefined : Number(digits) || undefined
}

function parseLabel(url: string): string | undefined {
  const name = splitAtLast(url, '/labels/')[1]
  return name === undefined ? undefined : decodeSegment(name)
}

/** Splits a URL at the last `separator`. Returns an empty array if there is none. */
function splitAtLast(url: string, separator: string): [string, string] | [] {
  const at = url.lastIndexOf(separator)
  return at < 0 ? [] : [url.slice(0, at), url.slice(at + separator.length)]
}

/** Decodes a part of a URL. Text that is not valid percent-encoding stays as it is. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** Accepts a missing URL as null. Some exporters write an empty string instead of null. */
export function orNull<T>(shape: Shape<T>): Shape<T | null> {
  return (value, at) => (value == null || value === '' ? null : shape(value, at))
}

export const login = parsed('the URL of a person', parseLogin)
export const loginOrNull: Shape<Author> = orNull(login)
export const team = parsed('the URL of a team', parseTeam)
export const repositoryName = parsed('the URL of a repository', parseRepository)
export const issueOrPull = parsed('the URL of an issue or a pull request', parseIssueOrPull)
export const id = parsed('a URL with a number at its end', parseTrailingNumber)
export const labelName = parsed('the URL of a label', parseLabel)
export const milestoneNumber = parsed('the URL of a milestone', parseTrailingNumber)
export const release = parsed('the URL of a release', (url) => {
  const [base, tag] = splitAtLast(url, '/releases/tag/')
  const repository = base && parseRepository(base)
  const on = { kind: 'release' as const, tag: decodeSegment(tag ?? '') }
  return repository && tag ? { repository, on } : undefined
})
export const commitComment = parsed('the URL of a comment on a commit', (url) => {
  const [base, end] = splitAtLast(url, '/commit/')
  const repository = base && parseRepository(base)
  const [, commit, number] = /^([0-9a-f]+)#\D*(\d{1,15})$/.exec(end ?? '') ?? []
  if (!repository || !commit || !number) return undefined
  return { repository, on: { kind: 'commit_comment' as const, commit, id: Number(number) } }
})
export const fileId: Shape<number> = parsed('the URL of a file', (url) => {
  const digits = /\/files\/(\d+)\//.exec(url)?.[1]
  return digits === undefined ? undefined : Number(digits)
})
export const storedPath = parsed('a URL in the archive', pathInArchive)

export const reviewer: Shape<Reviewer> = parsed('the URL of a person or a team', (url) => {
  const teamName = parseTeam(url)
  if (teamName) return { kind: 'team', ...teamName }
  const userLogin = parseLogin(url)
  return userLogin === undefined ? undefined : { kind: 'user', login: userLogin }
})
