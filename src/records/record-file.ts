const RECORD_FILE = /^([a-z][a-z_]*)_(\d{6})\.json$/

/** The kind of record that a file at the top of an archive holds, such as `issues`; undefined where it is no such file. */
export function kindOfFile(name: string): string | undefined {
  return RECORD_FILE.exec(name)?.[1]
}

/** The kinds that are known to occur; archives of other makers, and of times to come, may hold more. */
export const KNOWN_KINDS: ReadonlySet<string> = new Set([
  'users',
  'bots',
  'organizations',
  'teams',
  'repositories',
  'milestones',
  'issues',
  'issue_comments',
  'issue_events',
  'pull_requests',
  'pull_request_reviews',
  'pull_request_review_threads',
  'pull_request_review_comments',
  'commit_comments',
  'discussions',
  'discussion_categories',
  'releases',
  'protected_branches',
  'attachments',
  'repository_files',
])

/** `pull_requests`, 1: 1 pull request. */
export function countInWords(kind: string, count: number): string {
  const plural = kind.replaceAll('_', ' ')
  if (count !== 1) return `${count} ${plural}`
  return `1 ${plural
    .replace(/branches$/, 'branch')
    .replace(/ies$/, 'y')
    .replace(/s$/, '')}`
}
