import type { IssueOrPull, TeamName } from './fact.ts'

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
const LINKS_TO_FILES = new Set(['asset_url', 'file_url', 'git_url', 'wiki_url'])
/** Fields that may link to forks and other repositories that are not in the archive, and those whose content is that of another host. */
const EXTERNAL_FIELDS = new Set(['head', 'permissions', 'close_issue_references', 'forge_rule'])

/** Returns the URLs in a record that must refer to another record or to an entry of the archive. */
export function findLinks(record: unknown): RecordLink[] {
  const links: RecordLink[] = []
  collectLinks(record, '', '', links)
  return links
}

/** No exporter nests records this deeply. The limit keeps a hostile record from exhausting the stack. */
const MAX_DEPTH = 100

function collectLinks(value: unknown, key: string, field: string, links: RecordLink[], depth = 0) {
  if (depth > MAX_DEPTH) return
  if (typeof value === 'string') {
    if (LINKS_TO_FILES.has(key) && value.startsWith('tarball:'))
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
