import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { KNOWN_KINDS, kindOfFile, readRecordFile } from '../records/record-file.ts'
import type { OrganizationRecord, RepositoryRecord, UserRecord } from '../records/record-shapes.ts'

export interface Records {
  users: UserRecord[]
  organizations: OrganizationRecord[]
  repositories: RepositoryRecord[]
  /** As they are in the file. */
  protectedBranches: unknown[]
  /** How many there are of each kind, in the order of their names. */
  counts: Map<string, number>
  /** Whether there is a file of users at all: an archive without metadata has none. */
  hasUsers: boolean
  /** The files that cannot be understood at all. */
  faults: string[]
  /** Single records that cannot be, by file, index and field. The others of their file count. */
  warnings: string[]
}

/** All records at the top of an unpacked archive. */
export async function readRecords(root: string): Promise<Records> {
  const records: Records = {
    users: [],
    organizations: [],
    repositories: [],
    protectedBranches: [],
    counts: new Map(),
    hasUsers: false,
    faults: [],
    warnings: [],
  }
  for await (const { file, kind, read } of recordFiles(root)) {
    records.hasUsers ||= kind === 'users'
    if ('fault' in read) {
      records.faults.push(`${file}: ${read.fault}`)
      continue
    }
    records.counts.set(kind, (records.counts.get(kind) ?? 0) + read.count)
    records.warnings.push(...read.warnings.map((warning) => `${file}: ${warning}`))
    if (kind === 'users' || kind === 'organizations' || kind === 'repositories')
      records[kind].push(...(read.records.map(({ value }) => value) as never[]))
    if (kind === 'protected_branches')
      records.protectedBranches.push(...read.records.map(({ value }) => value))
  }
  return records
}

interface ReadFile {
  file: string
  kind: string
  read: ReturnType<typeof readRecordFile> | { fault: string }
}

/** One after another, so that only one is in memory. What is of no known kind is no fault, whatever it holds. */
export async function* recordFiles(root: string): AsyncGenerator<ReadFile> {
  for (const file of (await readdir(root)).sort()) {
    const kind = kindOfFile(file)
    if (kind === undefined) continue
    try {
      yield { file, kind, read: readRecordFile(kind, await readFile(join(root, file), 'utf8')) }
    } catch (error) {
      if (KNOWN_KINDS.has(kind)) yield { file, kind, read: { fault: (error as Error).message } }
    }
  }
}
