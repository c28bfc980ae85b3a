import { SAID_KINDS } from './facts.ts'

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
  ...SAID_KINDS,
  'discussions',
  'discussion_categories',
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
