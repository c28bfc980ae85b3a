import type { IssueOrPull, TeamName } from './fact.ts'

/**
 * The URLs of the host that an archive was exported from. `url` is the key of every record, and every link from one record to
 * another is a URL. Paths are GitHub's even if the host uses others, because importers know only those.
 */
export interface RecordAddresses {
  /** The base URL of teams and attachments, without a trailing slash. */
  host: string
  person(login: string): string
  repository(fullName: string): string
}

export interface Links {
  person(login: string | null): string | null
  team(team: TeamName): string
  attachment(uuid: string): string
  repository(fullName: string | null): string | null
  discussed(repository: string, discussed: IssueOrPull): string
  /** `what` is an anchor such as `issuecomment-5`. */
  inDiscussion(repository: string, discussed: IssueOrPull, what: string): string
  /** `what` is an anchor such as `r5`. */
  inPull(repository: string, pull: number, what: string): string
  commitComment(repository: string, commit: string, id: number): string
  label(repository: string, name: string): string
  milestone(repository: string, number: number | null): string | null
  release(repository: string, tag: string): string
  protectedBranch(repository: string, name: string): string
}

export function linksAt({ host, person, repository }: RecordAddresses): Links {
  const discussed = (name: string, { kind, number }: IssueOrPull) =>
    `${repository(name)}/${kind === 'issue' ? 'issues' : 'pull'}/${number}`
  return {
    person: (login) => (login === null ? null : person(login)),
    team: ({ organization, slug }) => `${host}/orgs/${organization}/teams/${slug}`,
    attachment: (uuid) => `${host}/user-attachments/assets/${uuid}`,
    repository: (fullName) => (fullName === null ? null : repository(fullName)),
    discussed,
    inDiscussion: (name, on, what) => `${discussed(name, on)}#${what}`,
    inPull: (name, pull, what) => `${repository(name)}/pull/${pull}/files#${what}`,
    commitComment: (name, commit, id) => `${repository(name)}/commit/${commit}#commitcomment-${id}`,
    label: (name, label) => `${repository(name)}/labels/${escaped(label)}`,
    milestone: (name, number) =>
      number === null ? null : `${repository(name)}/milestones/${number}`,
    release: (name, tag) => `${repository(name)}/releases/tag/${escaped(tag)}`,
    protectedBranch: (name, branch) => `${repository(name)}/settings/branches/${escaped(branch)}`,
  }
}

/** Escapes as RFC 6570 does, which GitHub uses. */
function escaped(part: string): string {
  const hex = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`
  return encodeURIComponent(part.toWellFormed()).replace(/[!'()*]/g, hex)
}

const IN_ARCHIVE = 'tarball://root/'

/** Returns the path in the archive for a `tarball:` address, and undefined for others. */
export function pathInArchive(address: string): string | undefined {
  return address.startsWith(IN_ARCHIVE) ? address.slice(IN_ARCHIVE.length) : undefined
}

export function addressInArchive(path: string): string {
  return `${IN_ARCHIVE}${path}`
}

export interface RecordLink {
  /** For example `reactions[0].user`. */
  field: string
  address: string
  to: 'person' | 'record' | 'archive'
}

const TO_PEOPLE = new Set(
  [
    'user actor assignee assignees creator creator_url owner resolver',
    'authorized_user_urls dismissal_restricted_user_urls',
  ].flatMap((names) => names.split(' ')),
)
const TO_RECORDS = new Set(
  [
    'repository repository_url repo issue pull_request milestone release organization parent_team reviewer labels',
    'issue_comment commit_comment discussion discussion_category in_reply_to',
    'pull_request_review pull_request_review_thread pull_request_review_comment',
    'authorized_team_urls dismissal_restricted_team_urls',
  ].flatMap((names) => names.split(' ')),
)
/** These may link to forks and other repositories that are not in the archive. */
const EXTERNAL_FIELDS = new Set(['head', 'permissions', 'close_issue_references'])

/** Returns the addresses in a record that must refer to another record or to an entry of the archive. */
export function linksOf(record: unknown): RecordLink[] {
  const links: RecordLink[] = []
  collect(record, '', '', links)
  return links
}

/** No exporter nests records as deeply. A deeper one was made to exhaust the stack. */
const MAX_DEPTH = 100

function collect(value: unknown, key: string, field: string, links: RecordLink[], depth = 0): void {
  if (depth > MAX_DEPTH) return
  if (typeof value === 'string') {
    if (value.startsWith('tarball:')) links.push({ field, address: value, to: 'archive' })
    else if (TO_PEOPLE.has(key)) links.push({ field, address: value, to: 'person' })
    else if (TO_RECORDS.has(key)) links.push({ field, address: value, to: 'record' })
  } else if (Array.isArray(value)) {
    for (const [n, each] of value.entries()) collect(each, key, `${field}[${n}]`, links, depth + 1)
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, each] of Object.entries(value))
      if (!EXTERNAL_FIELDS.has(name))
        collect(each, name, field ? `${field}.${name}` : name, links, depth + 1)
  }
}
