import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type LimitedLine, LimitedLines } from '@godwit/lib/findings'
import { listRecordFiles } from './formats/unpack-archive.ts'
import {
  isRecordKind,
  type OrganizationRecord,
  type RepositoryRecord,
  readRecordFile,
  type UserRecord,
} from './records/read-records.ts'
import { findLinks, pathInArchive, type RecordLink } from './records/record-urls.ts'

const noRecords = () => ({
  users: [] as UserRecord[],
  organizations: [] as OrganizationRecord[],
  repositories: [] as RepositoryRecord[],
  /** Not reduced to known fields, unlike the other records. */
  protectedBranches: [] as unknown[],
  /** The number of records of each kind, sorted by kind. */
  counts: new Map<string, number>(),
  /** Whether there is a file of users. An archive without metadata has none. */
  hasUsers: false,
  /** Describes the files that cannot be read. */
  errors: [] as string[],
  /** Describes single invalid records, by file, index and field. The other records of the file are used. */
  warnings: [] as LimitedLine[],
})

export type Records = ReturnType<typeof noRecords>

/** Reads all records of an unpacked archive. Calls `onUrl` with the URL of each. */
export async function readRecords(root: string, onUrl?: (url: string) => void): Promise<Records> {
  const records = noRecords()
  const warnings = new LimitedLines((line) => records.warnings.push(line))
  const warn = (file: string, kind: string, why: string) => warnings.add(kind, `${file}: ${why}`)
  for await (const { file, kind, read } of readRecordFiles(root, warn)) {
    records.hasUsers ||= kind === 'users'
    if ('error' in read) {
      records.errors.push(`${file}: ${read.error}`)
      continue
    }
    records.counts.set(kind, (records.counts.get(kind) ?? 0) + read.count)
    for (const { value } of read.valid) {
      // A record of an unknown kind may be any JSON value.
      const { url } = (value ?? {}) as { url?: unknown }
      if (typeof url === 'string') onUrl?.(url)
      if (kind === 'users' || kind === 'organizations' || kind === 'repositories')
        records[kind].push(value as never)
      if (kind === 'protected_branches') records.protectedBranches.push(value)
    }
  }
  warnings.end()
  return records
}

/** Reads one file after another, so that only one is in memory. An unreadable file of an unknown kind is ignored. */
async function* readRecordFiles(
  root: string,
  warn: (file: string, kind: string, why: string) => void,
) {
  for (const { file, kind } of await listRecordFiles(root)) {
    try {
      const text = await readFile(join(root, file), 'utf8')
      yield { file, kind, read: readRecordFile(kind, text, (why) => warn(file, kind, why)) }
    } catch (error) {
      if (isRecordKind(kind)) yield { file, kind, read: { error: (error as Error).message } }
    }
  }
}

/** Returns URLs that several records share, and broken links, in another pass over the files. `urls` contains the URLs of all records. */
export async function brokenLinks(
  root: string,
  { users, organizations, repositories, hasUsers }: Records,
  urls: ReadonlySet<string>,
  isInArchive: (path: string) => boolean,
): Promise<LimitedLine[]> {
  const found: LimitedLine[] = []
  const errors = new LimitedLines((line) => found.push(line))
  const byUrl = Map.groupBy([...users, ...organizations, ...repositories], ({ url }) => url)
  for (const [url, { length }] of byUrl)
    if (length > 1) errors.add('URLs', `${length} records have the URL ${url}`)
  const labels = new Set(repositories.flatMap((each) => (each.labels ?? []).map(({ url }) => url)))
  const isValid = ({ url, to }: RecordLink): boolean => {
    if (to !== 'archive') return urls.has(url) || labels.has(url) || (to === 'person' && !hasUsers)
    const path = pathInArchive(url)
    return path !== undefined && isInArchive(path)
  }
  // `readRecords` has already reported invalid records.
  for await (const { file, kind, read } of readRecordFiles(root, () => {})) {
    if ('error' in read) continue
    for (const { index, value } of read.valid)
      for (const link of findLinks(value)) {
        if (isValid(link)) continue
        const where = link.to === 'archive' ? 'which is not in the archive' : 'which has no record'
        errors.add(kind, `${file}: [${index}].${link.field} leads to ${link.url}, ${where}`)
      }
  }
  errors.end()
  return found
}
