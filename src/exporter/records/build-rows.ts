import { createHash, type Hash, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { nameKey } from '../../accounts/account.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import { Losses } from '../../lib/losses.ts'
import { sortedRows } from '../../lib/sorted-rows.ts'
import { type User, unknownUser } from '../../records/people.ts'
import { loginsIn } from '../../records/write-records.ts'
import type { Group } from '../../sources/discussions.ts'
import { addRow, FILES_FOLDERS, type FilesFolder, GROUP_KINDS, writeRows } from './record-rows.ts'

export interface BuildRowsParts {
  blobs: BlobStore
  /** A directory for data that does not fit into memory. */
  scratch: string
}

/**
 * Writes all facts of a repository and its owner as one blob, with a fact for each user that they refer to. In the result, `files`
 * has a digest of the list of files in each folder, or null if there are none.
 */
export async function buildRows(
  { blobs, scratch }: BuildRowsParts,
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

  people.addUsers(owner.facts.users)
  for await (const group of groups) {
    signal.throwIfAborted()
    people.addUsers(group.facts.users)
    for (const { file, size } of group.files) {
      const folder = folderOf(file)
      const digest = digests.get(folder) ?? createHash('sha256').update(`${folder}\n`)
      digests.set(folder, digest.update(`${file}\n${size}\n`))
    }
    access = group.teams ?? access
    for (const { kind, count, examples } of group.lost ?? []) losses.add(kind, count, ...examples)
    for (const kind of GROUP_KINDS)
      for (const fact of group.facts[kind] ?? []) {
        people.addNamed(loginsIn(kind, fact))
        addRow(rows, kind, fact)
      }
  }
  for (const each of owner.facts.organizations ?? []) {
    people.addMembers(loginsIn('organizations', each), each.login)
    addRow(rows, 'organizations', each)
  }
  for (const team of owner.facts.teams ?? []) {
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

/** Collects the logins that facts refer to, and the known users. */
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

  /** Yields all users that facts refer to, except organizations, which have their own records with the same address. */
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
