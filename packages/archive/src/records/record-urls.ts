import { parsed, type Shape } from '@godwit/lib/json-shape'
import { isForeignName } from '@godwit/lib/names'
import {
  type Author,
  type IssueOrPull,
  MAX_ITEM_NUMBER,
  type Reviewer,
  type TeamName,
} from './record.ts'

/**
 * The URLs of the host that an archive was exported from. `url` is the key of every record, and every link from one record to
 * another is a URL. Paths are GitHub's even if the host uses others, because importers know only those.
 */
export interface HostUrls {
  /** The base URL of teams and attachments, without a trailing slash. */
  host: string
  person(login: string): string
  repository(fullName: string): string
}

export type RecordUrls = ReturnType<typeof createRecordUrls>

/** Returns functions that build the URL of each kind of record. The URL of null is null. */
export function createRecordUrls({ host, person, repository }: HostUrls) {
  const issueOrPull = (name: string, { kind, number }: IssueOrPull) =>
    `${repository(name)}/${kind === 'issue' ? 'issues' : 'pull'}/${number}`
  const onIssueOrPull = (anchor: string) => (name: string, on: IssueOrPull, id: number) =>
    `${issueOrPull(name, on)}#${anchor}-${id}`
  const inPull = (anchor: string) => (name: string, pull: number, id: number | null) =>
    id === null ? null : `${repository(name)}/pull/${pull}/files#${anchor}${id}`
  return {
    person: (login: string | null) => (login === null ? null : person(login)),
    team: ({ organization, slug }: TeamName) => `${host}/orgs/${organization}/teams/${slug}`,
    attachment: (uuid: string) => `${host}/user-attachments/assets/${uuid}`,
    repository: (fullName: string | null) => (fullName === null ? null : repository(fullName)),
    issueOrPull,
    issueComment: onIssueOrPull('issuecomment'),
    issueEvent: onIssueOrPull('event'),
    review: inPull('pullrequestreview-'),
    reviewThread: inPull('pullrequestreviewthread-'),
    reviewComment: inPull('r'),
    commitComment: (name: string, commit: string, id: number) =>
      `${repository(name)}/commit/${commit}#commitcomment-${id}`,
    label: (name: string, label: string) => `${repository(name)}/labels/${encodeSegment(label)}`,
    milestone: (name: string, number: number | null) =>
      number === null ? null : `${repository(name)}/milestones/${number}`,
    release: (name: string, tag: string) =>
      `${repository(name)}/releases/tag/${encodeSegment(tag)}`,
    protectedBranch: (name: string, branch: string) =>
      `${repository(name)}/settings/branches/${encodeSegment(branch)}`,
  }
}

/** Percent-encodes a path segment according to RFC 6570, as GitHub does. */
function encodeSegment(part: string): string {
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(part.toWellFormed()).replace(/[!'()*]/g, hex)
}

const IN_ARCHIVE = 'tarball://root/'

/** Returns the path in the archive for a `tarball:` URL, and undefined for other URLs. */
export function pathInArchive(url: string): string | undefined {
  return url.startsWith(IN_ARCHIVE) ? url.slice(IN_ARCHIVE.length) : undefined
}

export function urlInArchive(path: string): string {
  return `${IN_ARCHIVE}${path}`
}

export interface RecordLink {
  /** For example `reactions[0].user`. */
  field: string
  url: string
  to: 'person' | 'record' | 'archive'
}

const LINKS_TO_PEOPLE = new Set([
  ...['user', 'actor', 'assignee', 'assignees', 'creator', 'creator_url', 'owner', 'resolver'],
  ...['authorized_user_urls', 'dismissal_restricted_user_urls'],
])
const LINKS_TO_RECORDS = new Set([
  ...['repository', 'repository_url', 'repo', 'issue', 'pull_request', 'milestone', 'release'],
  ...['organization', 'parent_team', 'reviewer', 'labels', 'issue_comment', 'commit_comment'],
  ...['discussion', 'discussion_category', 'in_reply_to', 'pull_request_review'],
  ...['pull_request_review_thread', 'pull_request_review_comment'],
  ...['authorized_team_urls', 'dismissal_restricted_team_urls'],
])
const LINKS_TO_GIT = new Set(['git_url', 'wiki_url'])
/** Some exporters leave these files on the host. */
const LINKS_TO_FILES = new Set(['asset_url', 'file_url'])
/** Fields that may link to forks and other repositories that are not in the archive, and those whose content is that of another host. */
const EXTERNAL_FIELDS = new Set(['head', 'permissions', 'close_issue_references', 'forge_rule'])

/** Returns the URLs in a record that must refer to another record or to an entry of the archive. */
export function findLinks(githubRecord: unknown): RecordLink[] {
  const links: RecordLink[] = []
  collectLinks(githubRecord, '', '', links)
  return links
}

/** No exporter nests records this deeply. The limit keeps a hostile record from exhausting the stack. */
const MAX_DEPTH = 100

function collectLinks(value: unknown, key: string, field: string, links: RecordLink[], depth = 0) {
  if (depth > MAX_DEPTH) return
  if (typeof value === 'string') {
    if (LINKS_TO_GIT.has(key) || (LINKS_TO_FILES.has(key) && value.startsWith('tarball:')))
      links.push({ field, url: value, to: 'archive' })
    else if (LINKS_TO_PEOPLE.has(key)) links.push({ field, url: value, to: 'person' })
    else if (LINKS_TO_RECORDS.has(key)) links.push({ field, url: value, to: 'record' })
  } else if (Array.isArray(value)) {
    for (const [n, each] of value.entries())
      collectLinks(each, key, `${field}[${n}]`, links, depth + 1)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value))
      if (!EXTERNAL_FIELDS.has(name))
        collectLinks(each, name, field ? `${field}.${name}` : name, links, depth + 1)
  }
}

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
