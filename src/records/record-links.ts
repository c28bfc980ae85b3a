const IN_ARCHIVE = 'tarball://root/'

/** The path in the archive that an address leads to; undefined where it leads elsewhere. */
export function pathInArchive(address: string): string | undefined {
  return address.startsWith(IN_ARCHIVE) ? address.slice(IN_ARCHIVE.length) : undefined
}

export function addressInArchive(path: string): string {
  return `${IN_ARCHIVE}${path}`
}

export interface RecordLink {
  /** Such as `reactions[0].user`. */
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
/** Forks, and repositories that a team or a commit also has to do with, need not be in the archive. */
const MAY_LEAD_OUT = new Set(['head', 'permissions', 'close_issue_references'])

/** The addresses in a record that must lead to another record, or to an entry of the archive. */
export function linksOf(record: unknown): RecordLink[] {
  const links: RecordLink[] = []
  collect(record, '', '', links)
  return links
}

/** Records of every maker are less deep; what is deeper was made to exhaust the stack. */
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
      if (!MAY_LEAD_OUT.has(name))
        collect(each, name, field ? `${field}.${name}` : name, links, depth + 1)
  }
}
