import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type LimitedLine, LimitedLines } from '../lib/limited-lines.ts'
import { linksOf, pathInArchive } from '../records/record-addresses.ts'
import { KNOWN_KINDS, kindOfFile, type OnInvalid, readRecordFile } from '../records/record-file.ts'
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
  warnings: LimitedLine[]
}

/** All records at the top of an unpacked archive; `onAddress` hears the address of each. */
export async function readRecords(
  root: string,
  onAddress?: (address: string) => void,
): Promise<Records> {
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
  const warnings = new LimitedLines((line) => records.warnings.push(line))
  const warn = (file: string, kind: string, why: string) => warnings.add(kind, `${file}: ${why}`)
  for await (const { file, kind, read } of recordFiles(root, warn)) {
    records.hasUsers ||= kind === 'users'
    if ('fault' in read) {
      records.faults.push(`${file}: ${read.fault}`)
      continue
    }
    records.counts.set(kind, (records.counts.get(kind) ?? 0) + read.count)
    if (onAddress) for (const { value } of read.records) tellAddresses(value, onAddress)
    if (kind === 'users' || kind === 'organizations' || kind === 'repositories')
      for (const { value } of read.records) records[kind].push(value as never)
    if (kind === 'protected_branches')
      for (const { value } of read.records) records.protectedBranches.push(value)
  }
  warnings.end()
  return records
}

/** A record of no known kind may be anything. */
function tellAddresses(record: unknown, onAddress: (address: string) => void): void {
  const { url } = (record ?? {}) as { url?: unknown }
  if (typeof url === 'string') onAddress(url)
}

interface ReadFile {
  file: string
  kind: string
  read: ReturnType<typeof readRecordFile> | { fault: string }
}

/** One after another, so that only one is in memory. What is of no known kind is no fault, whatever it holds. */
async function* recordFiles(
  root: string,
  warn: (file: string, kind: string, why: string) => void,
): AsyncGenerator<ReadFile> {
  for (const file of (await readdir(root)).sort()) {
    const kind = kindOfFile(file)
    if (kind === undefined) continue
    const onInvalid: OnInvalid = (why) => warn(file, kind, why)
    try {
      const text = await readFile(join(root, file), 'utf8')
      yield { file, kind, read: readRecordFile(kind, text, onInvalid) }
    } catch (error) {
      if (KNOWN_KINDS.has(kind)) yield { file, kind, read: { fault: (error as Error).message } }
    }
  }
}

/** Every link from one record to another, or into the archive, that leads nowhere; and every address that two share. */
export function brokenLinks(
  {
    users,
    organizations,
    repositories,
    hasUsers,
  }: Pick<Records, 'users' | 'organizations' | 'repositories' | 'hasUsers'>,
  isInArchive: (path: string) => boolean,
): LimitedLine[] {
  const people = new Set([...users, ...organizations].map(({ url }) => url))
  const found: LimitedLine[] = []
  const faults = new LimitedLines((line) => found.push(line))
  for (const each of sharedAddresses([...users, ...organizations, ...repositories]))
    faults.add('addresses', each)
  const toPerson = (from: string, link: string) => {
    if (hasUsers && !people.has(link))
      faults.add('links to people', `${from} links to ${link}, who has no record`)
  }
  const toArchive = (from: string, link: string) => {
    const path = pathInArchive(link)
    if (path === undefined || !isInArchive(path))
      faults.add('links into the archive', `${from} leads to ${link}, which is not in the archive`)
  }
  for (const { url, members } of organizations)
    for (const member of members ?? []) toPerson(`a member of ${url}`, member.user)
  for (const repository of repositories) {
    const { url } = repository
    for (const [what, link] of linksToPeople(repository)) toPerson(`${what} of ${url}`, link)
    for (const topic of repository.repository_topics ?? [])
      if (topic.repository !== undefined && topic.repository !== url)
        faults.add('topics', `a topic of ${url} belongs to ${topic.repository}`)
    toArchive(`git_url of ${url}`, repository.git_url)
    if (repository.wiki_url !== undefined) toArchive(`wiki_url of ${url}`, repository.wiki_url)
  }
  faults.end()
  return found
}

function linksToPeople(repository: RepositoryRecord): [what: string, link: string][] {
  const { owner, collaborators = [], repository_topics = [] } = repository
  return [
    ['the owner', owner],
    ...collaborators.map(({ user }): [string, string] => ['a collaborator', user]),
    ...repository_topics.flatMap(({ creator }): [string, string][] =>
      creator === undefined ? [] : [['the creator of a topic', creator]],
    ),
  ]
}

function sharedAddresses(records: readonly { url: string }[]): string[] {
  const byAddress = Map.groupBy(records, ({ url }) => url)
  return [...byAddress].flatMap(([url, those]) =>
    those.length > 1 ? [`${those.length} records have the address ${url}`] : [],
  )
}

/**
 * The links of what people said: of every record that is no user, organization or repository, whose own are told of elsewhere.
 * Another pass over the files. `addresses` are those of all records.
 */
export async function brokenRecordLinks(
  root: string,
  { repositories, hasUsers }: Pick<Records, 'repositories' | 'hasUsers'>,
  addresses: ReadonlySet<string>,
  isInArchive: (path: string) => boolean,
): Promise<LimitedLine[]> {
  const labels = new Set(repositories.flatMap((each) => (each.labels ?? []).map(({ url }) => url)))
  const isKnown = (address: string) => addresses.has(address) || labels.has(address)
  const leadsOn = ({ address, to }: ReturnType<typeof linksOf>[number]): boolean => {
    if (to !== 'archive') return isKnown(address) || (to === 'person' && !hasUsers)
    const path = pathInArchive(address)
    return path !== undefined && isInArchive(path)
  }
  const found: LimitedLine[] = []
  const faults = new LimitedLines((line) => found.push(line))
  // The first pass told of invalid records.
  for await (const { file, kind, read } of recordFiles(root, () => {})) {
    if ('fault' in read || ['users', 'organizations', 'repositories'].includes(kind)) continue
    for (const { index, value } of read.records)
      for (const link of linksOf(value)) {
        if (leadsOn(link)) continue
        const where = link.to === 'archive' ? 'which is not in the archive' : 'which has no record'
        faults.add(kind, `${file}: [${index}].${link.field} leads to ${link.address}, ${where}`)
      }
  }
  faults.end()
  return found
}
