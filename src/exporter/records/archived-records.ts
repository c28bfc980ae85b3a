import { keyOf } from '../../accounts/account.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import { archivedKeysOf } from '../../migrations/record-store.ts'
import type { StoredContents } from '../../migrations/segment-contents-store.ts'
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
  /** Whether whoever gets the archive may be told who is in an organization. */
  maySeeMembers(organization: Organization): boolean
  signal: AbortSignal
}

interface RowsOf {
  fullName: string
  key: string
  contents: RowsContents
}

/**
 * What people said about the repositories of one archive. People, organizations and teams are held in memory, the rest passes
 * through one record at a time.
 */
export class ArchivedRecords {
  readonly users = new Map<string, User>()
  readonly organizations = new Map<string, Organization>()
  readonly teams = new Map<string, Team>()
  readonly #parts: ArchivedRecordsParts
  readonly #rows: RowsOf[]
  /** Paths in the archive of the files that it holds. */
  readonly #files = new Set<string>()
  readonly #attachments = new Set<string>()

  private constructor(parts: ArchivedRecordsParts, rows: RowsOf[]) {
    this.#parts = parts
    this.#rows = rows
  }

  /** Undefined where nothing was read of a forge. */
  static async open(parts: ArchivedRecordsParts): Promise<ArchivedRecords | undefined> {
    const rows: RowsOf[] = []
    for (const { facts, records } of parts.repositories) {
      if (!records) continue
      const key = records.rowsKey
      const contents = await parts.contents.of<RowsContents>(key)
      if (contents) rows.push({ fullName: fullNameOf(facts), key, contents })
    }
    if (rows.length === 0) return undefined
    const records = new ArchivedRecords(parts, rows)
    await records.#noteFiles()
    await records.#meetPeople()
    return records
  }

  /** As the forge writes it. */
  spelt = (login: string): string => {
    const key = keyOf(login)
    return this.users.get(key)?.login ?? this.organizations.get(key)?.login ?? login
  }

  async repository(fullName: string): Promise<Repository | undefined> {
    const rows = this.#rows.find((each) => each.fullName === fullName)
    let found: Repository | undefined
    // Read to the end: only there is it known to be what was written.
    if (rows) for await (const fact of this.#read(rows, 'repositories')) found ??= fact
    return found
  }

  /** The records of one kind, repository by repository. */
  async *records(kind: Kind & keyof FactsByKind, addresses: RecordAddresses) {
    for (const { fact, forge } of this.#all(kind)) {
      for await (const each of fact) {
        const kept = this.#withoutLostFiles(kind, each)
        if (kept) yield writeRecord(kind, this.#rewritten(kept, forge, addresses), addresses)
      }
    }
  }

  *#all<K extends Kind & keyof FactsByKind>(kind: K) {
    for (const rows of this.#rows)
      yield { fact: this.#read(rows, kind), forge: rows.contents.forge }
  }

  #read<K extends Kind>({ key, contents }: RowsOf, kind: K) {
    const { blobs, signal } = this.#parts
    return readRows(blobs, key, contents.sections, kind, signal)
  }

  /** What is not in the archive has no record: the forge did not have it, or it was not wanted. */
  #withoutLostFiles<K extends keyof FactsByKind>(
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

  /** Texts link to attachments where the archive's records have them. */
  #rewritten<F extends object>(fact: F, forge: string, addresses: RecordAddresses): F {
    const { body } = fact as { body?: unknown }
    if (typeof body !== 'string' || this.#attachments.size === 0) return fact
    const { attachment } = linksAt(addresses)
    const addressOf = (uuid: string) => (this.#attachments.has(uuid) ? attachment(uuid) : undefined)
    return { ...fact, body: rewriteAttachmentLinks(body, forge, addressOf) }
  }

  async #noteFiles(): Promise<void> {
    for (const { records } of this.#parts.repositories)
      for (const key of archivedKeysOf(records)) {
        const said = await this.#parts.contents.of<FilesContents>(key)
        for (const { path } of said?.files ?? []) {
          this.#files.add(path)
          if (path.startsWith('attachments/')) this.#attachments.add(path.split('/')[1] ?? '')
        }
      }
  }

  async #meetPeople(): Promise<void> {
    for (const rows of this.#rows) {
      for await (const fact of this.#read(rows, 'organizations'))
        this.organizations.set(keyOf(fact.login), this.#withMembersOrNot(fact))
      for await (const fact of this.#read(rows, 'teams')) this.#addTeam(fact)
      for await (const user of this.#read(rows, 'users')) this.#addUser(user)
      for await (const user of this.#read(rows, 'members'))
        if (this.#isMemberShown(user.login)) this.#addUser(user)
    }
  }

  /** The first who says more than a name counts. */
  #addUser(user: User): void {
    const known = this.users.get(keyOf(user.login))
    if (!known || (known.avatar === null && user.avatar !== null))
      this.users.set(keyOf(user.login), user)
  }

  #withMembersOrNot(fact: Organization): Organization {
    return this.#parts.maySeeMembers(fact) ? fact : { ...fact, members: [] }
  }

  #isMemberShown(login: string): boolean {
    const key = keyOf(login)
    const isAmong = (members: readonly { login: string }[]) =>
      members.some((member) => keyOf(member.login) === key)
    return (
      this.organizations.values().some(({ members }) => isAmong(members)) ||
      this.teams.values().some(({ members }) => isAmong(members))
    )
  }

  /** A team may do something with several of the repositories. */
  #addTeam(fact: Team): void {
    const key = `${keyOf(fact.organization)}/${fact.slug}`
    const isShown = (this.organizations.get(keyOf(fact.organization))?.members.length ?? 0) > 0
    const known = this.teams.get(key)
    const permissions = [...(known?.permissions ?? []), ...fact.permissions]
    this.teams.set(key, { ...fact, permissions, members: isShown ? fact.members : [] })
  }
}
