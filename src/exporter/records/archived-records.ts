import { nameKey } from '../../accounts/account.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import { archivedKeysOf } from '../../migrations/record-store.ts'
import type { StoredContents } from '../../migrations/segment-store.ts'
import type { FactsByKind } from '../../records/facts.ts'
import type { Organization, Team, User } from '../../records/people.ts'
import { linksAt, type RecordAddresses } from '../../records/record-addresses.ts'
import type { Repository } from '../../records/repository.ts'
import { writeRecord } from '../../records/write-records.ts'
import { fullNameOf } from '../../repositories/facts.ts'
import { rewriteAttachmentLinks } from '../../sources/forge/attachment-links.ts'
import type { FilesContents, Kind, RowsContents } from './record-rows.ts'
import { readRows } from './record-rows.ts'

export interface ArchivedRecordsParts {
  blobs: BlobStore
  repositories: readonly ExportedRepository[]
  contents: StoredContents
  /** Whether the viewer of the archive may see the members of an organization. */
  maySeeMembers(organization: Organization): boolean
  signal: AbortSignal
}

interface RepositoryRows {
  fullName: string
  key: string
  contents: RowsContents
}

/**
 * The records from the forge for the repositories of one archive. People, organizations and teams are in memory, the rest is
 * read one record at a time.
 */
export class ArchivedRecords {
  readonly users = new Map<string, User>()
  readonly organizations = new Map<string, Organization>()
  readonly teams = new Map<string, Team>()
  readonly #parts: ArchivedRecordsParts
  readonly #rows: RepositoryRows[]
  /** The paths of all attachments and release assets in the archive. */
  readonly #files = new Set<string>()
  readonly #attachments = new Set<string>()

  private constructor(parts: ArchivedRecordsParts, rows: RepositoryRows[]) {
    this.#parts = parts
    this.#rows = rows
  }

  /** Returns undefined if nothing was read from a forge. */
  static async open(parts: ArchivedRecordsParts): Promise<ArchivedRecords | undefined> {
    const rows: RepositoryRows[] = []
    for (const { facts, records } of parts.repositories) {
      if (!records) continue
      const key = records.rowsKey
      const contents = await parts.contents.of<RowsContents>(key)
      if (contents) rows.push({ fullName: fullNameOf(facts), key, contents })
    }
    if (rows.length === 0) return undefined
    const records = new ArchivedRecords(parts, rows)
    await records.#readFileNames()
    await records.#readPeople()
    return records
  }

  /** Returns the login in the spelling of the forge. */
  spelt = (login: string): string => {
    const key = nameKey(login)
    return this.users.get(key)?.login ?? this.organizations.get(key)?.login ?? login
  }

  async repository(fullName: string): Promise<Repository | undefined> {
    const rows = this.#rows.find((each) => each.fullName === fullName)
    let found: Repository | undefined
    // Read to the end, because damage is detected only there.
    if (rows) for await (const fact of this.#read(rows, 'repositories')) found ??= fact
    return found
  }

  async *records(kind: Kind & keyof FactsByKind, addresses: RecordAddresses) {
    for (const { fact, forge } of this.#all(kind)) {
      for await (const each of fact) {
        const kept = this.#withoutMissingFiles(kind, each)
        if (kept)
          yield writeRecord(kind, this.#withRewrittenLinks(kept, forge, addresses), addresses)
      }
    }
  }

  *#all<K extends Kind & keyof FactsByKind>(kind: K) {
    for (const rows of this.#rows)
      yield { fact: this.#read(rows, kind), forge: rows.contents.forge }
  }

  #read<K extends Kind>({ key, contents }: RepositoryRows, kind: K) {
    const { blobs, signal } = this.#parts
    return readRows(blobs, key, contents.sections, kind, signal)
  }

  /** Files that are not in the archive get no record: the forge did not have them, or they are excluded. */
  #withoutMissingFiles<K extends keyof FactsByKind>(
    kind: K,
    fact: FactsByKind[K],
  ): FactsByKind[K] | undefined {
    if (kind === 'attachments')
      return this.#files.has((fact as FactsByKind['attachments']).file) ? fact : undefined
    if (kind !== 'releases') return fact
    const release = fact as FactsByKind['releases']
    const assets = release.assets.filter(({ file }) => this.#files.has(file))
    return { ...release, assets } as unknown as FactsByKind[K]
  }

  /** Rewrites links in texts to the addresses of the attachments' records. */
  #withRewrittenLinks<F extends object>(fact: F, forge: string, addresses: RecordAddresses): F {
    const { body } = fact as { body?: unknown }
    if (typeof body !== 'string' || this.#attachments.size === 0) return fact
    const { attachment } = linksAt(addresses)
    const addressOf = (uuid: string) => (this.#attachments.has(uuid) ? attachment(uuid) : undefined)
    return { ...fact, body: rewriteAttachmentLinks(body, forge, addressOf) }
  }

  async #readFileNames(): Promise<void> {
    for (const { records } of this.#parts.repositories)
      for (const key of archivedKeysOf(records)) {
        const found = await this.#parts.contents.of<FilesContents>(key)
        for (const { path } of found?.files ?? []) {
          this.#files.add(path)
          if (path.startsWith('attachments/')) this.#attachments.add(path.split('/')[1] ?? '')
        }
      }
  }

  async #readPeople(): Promise<void> {
    for (const rows of this.#rows) {
      for await (const fact of this.#read(rows, 'organizations'))
        this.organizations.set(nameKey(fact.login), this.#withVisibleMembers(fact))
      for await (const fact of this.#read(rows, 'teams')) this.#addTeam(fact)
      for await (const user of this.#read(rows, 'users')) this.#addUser(user)
      for await (const user of this.#read(rows, 'members'))
        if (this.#isMemberShown(user.login)) this.#addUser(user)
    }
  }

  /** The first user with more than a login is kept. */
  #addUser(user: User): void {
    const known = this.users.get(nameKey(user.login))
    if (!known || (known.avatar === null && user.avatar !== null))
      this.users.set(nameKey(user.login), user)
  }

  #withVisibleMembers(fact: Organization): Organization {
    return this.#parts.maySeeMembers(fact) ? fact : { ...fact, members: [] }
  }

  #isMemberShown(login: string): boolean {
    const key = nameKey(login)
    const isAmong = (members: readonly { login: string }[]) =>
      members.some((member) => nameKey(member.login) === key)
    return (
      this.organizations.values().some(({ members }) => isAmong(members)) ||
      this.teams.values().some(({ members }) => isAmong(members))
    )
  }

  /** A team may have permissions on several of the repositories. */
  #addTeam(fact: Team): void {
    const key = `${nameKey(fact.organization)}/${fact.slug}`
    const isShown = (this.organizations.get(nameKey(fact.organization))?.members.length ?? 0) > 0
    const known = this.teams.get(key)
    const permissions = [...(known?.permissions ?? []), ...fact.permissions]
    this.teams.set(key, { ...fact, permissions, members: isShown ? fact.members : [] })
  }
}
