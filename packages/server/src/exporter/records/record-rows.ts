import { createHash, type Hash, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { crc32, createDeflateRaw, createInflateRaw } from 'node:zlib'
import { type User, unknownUser } from '@godwit/archive/records/people'
import { ISSUE_TRACKER_KINDS, type RecordsByKind } from '@godwit/archive/records/record-kinds'
import { loginsIn } from '@godwit/archive/records/write-records'
import { SegmentDamaged } from '@godwit/archive/tar/copy-archive'
import type { ManifestFile } from '@godwit/archive/tar/manifest'
import type { Group } from '@godwit/hosts/discussions'
import { onChunk } from '@godwit/lib/chunks'
import { codeOf } from '@godwit/lib/errno'
import { type Loss, Losses } from '@godwit/lib/findings'
import { type SortedRows, sortedRows } from '@godwit/lib/sorted-rows'
import { nameKey } from '../../accounts/account.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { SegmentRecord } from '../../migrations/segment-store.ts'

/** The kinds of records in groups, except people. */
const GROUP_KINDS = [
  'repositories',
  ...ISSUE_TRACKER_KINDS,
  'protected_branches',
  'attachments',
] as const

/** The kinds of records that are stored as rows, in the order of the archive's files. */
const KINDS = [
  // Users who are known only as members of the organization. Not everyone may see them.
  'members',
  'users',
  'organizations',
  'teams',
  ...GROUP_KINDS,
] as const satisfies (keyof RowsByKind)[]

export type Kind = (typeof KINDS)[number]

export interface RowsByKind extends RecordsByKind {
  members: User
}

/** The records of one kind within a blob: lines of JSON, deflated separately. */
interface Section {
  kind: Kind
  start: number
  end: number
  count: number
  /** The CRC-32 of the stored bytes. */
  crc32: number
}

/** Adds a record, to be sorted by number or id. */
function addRow<K extends Kind>(rows: SortedRows, kind: K, record: RowsByKind[K]): void {
  const { number, id } = record as { number?: number; id?: number }
  rows.add(kind, number ?? id ?? 0, 0, record)
}

const CHUNK_LENGTH = 64 * 1024

/** Yields the records of one kind as lines of JSON, many in each chunk. */
function* chunksOf(rows: SortedRows, kind: Kind): Generator<Buffer> {
  let chunk = ''
  for (const [, record] of rows.all(kind)) {
    chunk += `${JSON.stringify(record)}\n`
    if (chunk.length < CHUNK_LENGTH) continue
    yield Buffer.from(chunk)
    chunk = ''
  }
  yield Buffer.from(chunk)
}

/** Writes the records of a repository as one blob with a section for each kind, so that each kind can be read alone. */
async function writeRows(
  blobs: BlobStore,
  key: string,
  rows: SortedRows,
  signal: AbortSignal,
): Promise<{ segment: SegmentRecord; sections: Section[] }> {
  const sections: Section[] = []
  const sha256 = createHash('sha256')
  let [length, plainLength] = [0, 0]

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const kind of KINDS) {
      const count = rows.count(kind)
      if (count === 0) continue
      const start = length
      let crc = 0
      const deflated = createDeflateRaw()
      const chunks = onChunk(chunksOf(rows, kind), (chunk) => {
        plainLength += chunk.length
      })
      pipeline(chunks, deflated, () => {})
      for await (const piece of deflated as AsyncIterable<Uint8Array>) {
        sha256.update(piece)
        crc = crc32(piece, crc)
        length += piece.length
        yield piece
      }
      sections.push({ kind, start, end: length, count, crc32: crc })
    }
  }

  await blobs.put(key, bytes(), { signal })
  const digests = { crc32: 0, storedCrc32: null, sha256: sha256.digest('hex') }
  return { segment: { key, length, plainLength, ...digests }, sections }
}

/** Reads the records of one kind. Throws SegmentDamaged if they differ from what was written, perhaps only after the last row. */
export async function* readRows<K extends Kind>(
  blobs: BlobStore,
  key: string,
  sections: readonly Section[],
  kind: K,
  signal: AbortSignal,
): AsyncGenerator<RowsByKind[K]> {
  const section = sections.find((each) => each.kind === kind)
  if (!section) return
  const { start, end } = section
  const stored = await blobs.open(key, { start, end }, { signal })
  const plain = createInflateRaw()
  let crc = 0
  const checked = onChunk(stored as AsyncIterable<Buffer>, (piece) => {
    crc = crc32(piece, crc)
  })
  pipeline(checked, plain, () => {})
  let read = 0
  try {
    for await (const line of linesOf(plain)) {
      read++
      yield JSON.parse(line) as RowsByKind[K]
    }
  } catch (error) {
    const isCorrupt = error instanceof SyntaxError || codeOf(error)?.startsWith('Z_')
    throw isCorrupt ? new SegmentDamaged(key, 'it cannot be inflated', { cause: error }) : error
  }
  if (read !== section.count || crc !== section.crc32)
    throw new SegmentDamaged(key, `its rows of ${kind} are not those that were written`)
}

async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let rest: Buffer = Buffer.alloc(0)
  for await (const piece of bytes) {
    const all = rest.length === 0 ? piece : Buffer.concat([rest, piece])
    let from = 0
    for (let at = all.indexOf(10); at !== -1; at = all.indexOf(10, from)) {
      yield all.toString('utf8', from, at)
      from = at + 1
    }
    rest = all.subarray(from)
  }
}

/** The description of a blob of rows in the database. */
export interface RowsContents {
  /** The URL of the forge: texts contain its addresses. */
  forge: string
  sections: Section[]
  /** A digest of the list of files in each folder, null if there are none. */
  files: Record<FilesFolder, string | null>
  losses: Loss[]
}

/** The folders of the files of records in the archive. */
export const FILES_FOLDERS = ['attachments', 'release_assets'] as const
export type FilesFolder = (typeof FILES_FOLDERS)[number]

/** The description of a segment of files in the database. */
export interface FilesContents {
  full_name: string
  files: ManifestFile[]
  /** The files that are missing in the segment, each with the reason. */
  missing: Loss[]
}

export interface BuildRowsDependencies {
  blobs: BlobStore
  /** A directory for data that does not fit into memory. */
  scratch: string
}

/**
 * Writes all records of a repository and its owner as one blob, with a record for each user that they refer to. In the result, `files`
 * has a digest of the list of files in each folder, or null if there are none.
 */
export async function buildRows(
  { blobs, scratch }: BuildRowsDependencies,
  fullName: string,
  owner: Group,
  groups: AsyncIterable<Group>,
  signal: AbortSignal,
) {
  const key = randomUUID()
  const file = join(scratch, `rows-${key}`)
  await using _ = { [Symbol.asyncDispose]: () => rm(file, { force: true }) }
  using rows = sortedRows(file)
  const people = new PeopleCollector()
  const digests = new Map<FilesFolder, Hash>()
  const losses = new Losses()
  let access: NonNullable<Group['teams']> = []

  people.addUsers(owner.records.users)
  for await (const group of groups) {
    signal.throwIfAborted()
    people.addUsers(group.records.users)
    for (const { file, size } of group.files) {
      const folder = folderOf(file)
      const newDigest = () => createHash('sha256').update(`${folder}\n`)
      digests.getOrInsertComputed(folder, newDigest).update(`${file}\n${size}\n`)
    }
    access = group.teams ?? access
    for (const { kind, count, examples } of group.losses ?? []) losses.add(kind, count, ...examples)
    for (const kind of GROUP_KINDS)
      for (const record of group.records[kind] ?? []) {
        people.addNamed(loginsIn(kind, record))
        addRow(rows, kind, record)
      }
  }
  for (const each of owner.records.organizations ?? []) {
    people.addMembers(loginsIn('organizations', each), each.login)
    addRow(rows, 'organizations', each)
  }
  for (const team of owner.records.teams ?? []) {
    const found = access.find(({ slug }) => slug === team.slug)
    if (!found && owner.unlistedTeams?.includes(team.slug)) continue
    const permissions = found ? [{ repository: fullName, access: found.access }] : []
    people.addMembers(loginsIn('teams', team), team.organization)
    addRow(rows, 'teams', { ...team, permissions })
  }
  for (const [kind, user] of people.all()) addRow(rows, kind, user)
  const digestOf = (folder: FilesFolder) => digests.get(folder)?.digest('hex') ?? null
  const files = { attachments: digestOf('attachments'), release_assets: digestOf('release_assets') }
  return { ...(await writeRows(blobs, key, rows, signal)), files, losses: losses.all() }
}

/** Collects the logins that records refer to, and the known users. */
class PeopleCollector {
  readonly #known = new Map<string, User>()
  readonly #named = new Map<string, string>()
  readonly #members = new Map<string, string>()
  readonly #organizations = new Set<string>()

  addUsers(users: readonly User[] | undefined): void {
    for (const user of users ?? []) this.#known.set(nameKey(user.login), user)
  }

  addNamed(logins: Iterable<string>): void {
    for (const login of logins) this.#named.set(nameKey(login), login)
  }

  addMembers(logins: Iterable<string>, organization: string): void {
    this.#organizations.add(nameKey(organization))
    for (const login of logins) this.#members.set(nameKey(login), login)
  }

  /** Yields all users that records refer to, except organizations, which have their own records with the same address. */
  *all(): Generator<['users' | 'members', User]> {
    const userOf = (key: string, login: string) => this.#known.get(key) ?? unknownUser(login)
    for (const [key, login] of this.#named)
      if (!this.#organizations.has(key)) yield ['users', userOf(key, login)]
    for (const [key, login] of this.#members)
      if (!this.#organizations.has(key) && !this.#named.has(key))
        yield ['members', userOf(key, login)]
  }
}

export function folderOf(file: string): FilesFolder {
  const folder = FILES_FOLDERS.find((each) => file.startsWith(`${each}/`))
  if (!folder) throw new Error(`not an attachment or release asset: ${file}`)
  return folder
}
