import { createHash, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { keyOf } from '../../accounts/account.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { type FactsByKind, SAID_KINDS, type WrittenKind } from '../../records/facts.ts'
import { type User, unknownUser } from '../../records/people.ts'
import { loginsIn } from '../../records/write-records.ts'
import type { FileToFetch, Group } from '../../sources/discussions.ts'
import {
  FILES_FOLDERS,
  type FilesFolder,
  RowSpool,
  type WrittenRows,
  writeRows,
} from './record-rows.ts'

export interface BuildRowsParts {
  blobs: BlobStore
  /** Where what does not fit into memory is kept for a while. */
  scratch: string
}

export interface BuiltRows extends WrittenRows {
  files: Record<FilesFolder, string | null>
}

/** All facts of a repository and its owner as one blob; everyone they name has a fact of their own. */
export async function buildRows(
  { blobs, scratch }: BuildRowsParts,
  fullName: string,
  owner: Group,
  groups: AsyncIterable<Group>,
  signal: AbortSignal,
): Promise<BuiltRows> {
  const key = randomUUID()
  await using spool = await RowSpool.create(join(scratch, `rows-${key}`))
  const people = new PeopleOfRows()
  const digests = new FileDigests()
  let access: NonNullable<Group['teams']> = []

  async function addFact<K extends WrittenKind>(kind: K, fact: FactsByKind[K]): Promise<void> {
    people.name(loginsIn(kind, fact))
    await spool.add(kind, fact)
  }

  people.know(owner.facts.users)
  for await (const group of groups) {
    signal.throwIfAborted()
    people.know(group.facts.users)
    for (const file of group.files) digests.add(file)
    access = group.teams ?? access
    for (const kind of OF_GROUPS)
      for (const fact of group.facts[kind] ?? []) await addFact(kind, fact)
  }
  for (const each of owner.facts.organizations ?? []) {
    people.nameMembers(loginsIn('organizations', each), each.login)
    await spool.add('organizations', each)
  }
  for (const team of owner.facts.teams ?? []) {
    const found = access.find(({ slug }) => slug === team.slug)
    const permissions = found ? [{ repository: fullName, access: found.access }] : []
    people.nameMembers(loginsIn('teams', team), team.organization)
    await spool.add('teams', { ...team, permissions })
  }
  for (const [kind, user] of people.all()) await spool.add(kind, user)
  return { ...(await writeRows(blobs, key, spool, signal)), files: digests.all() }
}

/** What groups of a repository hold, but for people. */
const OF_GROUPS = [
  'repositories',
  ...SAID_KINDS,
  'protected_branches',
  'attachments',
] as const satisfies WrittenKind[]

/** Who is named, by what, and what is known of them. */
class PeopleOfRows {
  readonly #known = new Map<string, User>()
  readonly #named = new Map<string, string>()
  readonly #members = new Map<string, string>()
  readonly #organizations = new Set<string>()

  know(users: readonly User[] | undefined): void {
    for (const user of users ?? []) this.#known.set(keyOf(user.login), user)
  }

  name(logins: Iterable<string>): void {
    for (const login of logins) this.#named.set(keyOf(login), login)
  }

  nameMembers(logins: Iterable<string>, organization: string): void {
    this.#organizations.add(keyOf(organization))
    for (const login of logins) this.#members.set(keyOf(login), login)
  }

  /** An organization has a record of its own under the same address. */
  *all(): Generator<['users' | 'members', User]> {
    const userOf = (key: string, login: string) => this.#known.get(key) ?? unknownUser(login)
    for (const [key, login] of this.#named)
      if (!this.#organizations.has(key)) yield ['users', userOf(key, login)]
    for (const [key, login] of this.#members)
      if (!this.#organizations.has(key) && !this.#named.has(key))
        yield ['members', userOf(key, login)]
  }
}

/** One digest for the files of each folder: the same for the same files. */
class FileDigests {
  readonly #digests = new Map<FilesFolder, ReturnType<typeof createHash>>()

  add({ file, size }: FileToFetch): void {
    const folder = folderOf(file)
    const digest = this.#digests.get(folder) ?? createHash('sha256').update(`${folder}\n`)
    this.#digests.set(folder, digest.update(`${file}\n${size}\n`))
  }

  all(): Record<FilesFolder, string | null> {
    const of = (folder: FilesFolder) => this.#digests.get(folder)?.digest('hex') ?? null
    return { attachments: of('attachments'), release_assets: of('release_assets') }
  }
}

export function folderOf(file: string): FilesFolder {
  const folder = FILES_FOLDERS.find((each) => file.startsWith(`${each}/`))
  if (!folder) throw new Error(`not a file of a record: ${file}`)
  return folder
}
