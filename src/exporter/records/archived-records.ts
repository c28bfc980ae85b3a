import { nameKey } from '../../accounts/account.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import { archivedKeysOf } from '../../migrations/record-store.ts'
import type { StoredContents } from '../../migrations/segment-store.ts'
import type { FactsByKind } from '../../records/fact-kinds.ts'
import type { Organization, Team, User } from '../../records/people.ts'
import { createRecordUrls, type HostUrls } from '../../records/record-urls.ts'
import type { Repository } from '../../records/repository.ts'
import { toRecord } from '../../records/write-records.ts'
import { fullNameOf } from '../../repositories/facts.ts'
import { rewriteAttachmentLinks } from '../../sources/forge/attachment-links.ts'
import {
  type FilesContents,
  type Kind,
  type RowsByKind,
  type RowsContents,
  readRows,
} from './record-rows.ts'

interface ArchivedRecordsParts {
  blobs: BlobStore
  repositories: readonly ExportedRepository[]
  contents: StoredContents
  /** The URL of Godwit's API. Records have it as their host if `--web-url` is not set. It serves no attachments. */
  api: string
  /** Returns whether the viewer of the archive may see the members of an organization. */
  maySeeMembers(organization: Organization): boolean
  signal: AbortSignal
}

interface RepositoryRows {
  fullName: string
  key: string
  contents: RowsContents
}

/**
 * The records that were read from the forge for the repositories of one archive. Users, organizations and teams are held in memory.
 * The rest is read from the blob store, one record at a time.
 */
export class ArchivedRecords {
  readonly users = new Map<string, User>()
  readonly organizations = new Map<string, Organization>()
  readonly teams = new Map<string, Team>()
  /** The members of organizations and teams whose members the viewer may see. */
  readonly #visibleLogins = new Set<string>()
  readonly #parts: ArchivedRecordsParts
  readonly #rows: RepositoryRows[]
  /** The paths of all attachments and release assets in the archive. */
  readonly #files = new Set<string>()
  /** The UUIDs of all attachments in the archive. */
  readonly #attachmentIds = new Set<string>()

  private constructor(parts: ArchivedRecordsParts, rows: RepositoryRows[]) {
    this.#parts = parts
    this.#rows = rows
  }

  /** Opens the records of these repositories. Returns undefined if none of them has records from a forge. */
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

  /** Returns the login as the forge spells it, or unchanged if the forge does not know it. */
  forgeSpelling(login: string): string {
    const key = nameKey(login)
    return this.users.get(key)?.login ?? this.organizations.get(key)?.login ?? login
  }

  async repository(fullName: string): Promise<Repository | undefined> {
    const rows = this.#rows.find((candidate) => candidate.fullName === fullName)
    let found: Repository | undefined
    // All rows are read, because damage is detected only at the end.
    if (rows)
      for await (const fact of this.#map(rows, 'repositories', (each) => each)) found ??= fact
    return found
  }

  /** Yields the records of one kind, as they are written to the archive. */
  async *records(kind: Kind & keyof FactsByKind, urls: HostUrls) {
    for (const rows of this.#rows) {
      const { forge } = rows.contents
      const oldHost = urls.host === this.#parts.api ? forge : urls.host
      const records = this.#map(rows, kind, (fact) => {
        const archived = this.#withFiles(kind, fact, oldHost)
        return archived && toRecord(kind, this.#withRewrittenLinks(archived, forge, urls), urls)
      })
      for await (const record of records) if (record) yield record
    }
  }

  /**
   * Yields the result of `convert` for each fact of one kind. Throws SegmentDamaged if the rows are damaged. That is detected only
   * after the last row, so if `convert` fails, the remaining rows are read to find out whether damage is the reason.
   */
  async *#map<K extends Kind, T>(
    { key, contents }: RepositoryRows,
    kind: K,
    convert: (fact: RowsByKind[K]) => T,
  ): AsyncGenerator<T> {
    const { blobs, signal } = this.#parts
    const facts = readRows(blobs, key, contents.sections, kind, signal)
    for await (const fact of facts) {
      let converted: T
      try {
        converted = convert(fact)
      } catch (error) {
        while (!(await facts.next()).done);
        throw error
      }
      yield converted
    }
  }

  /**
   * Adds the old addresses of attachments. Removes references to files that are not in the archive, because the forge did not have
   * them or they are excluded.
   */
  #withFiles<K extends keyof FactsByKind>(
    kind: K,
    fact: FactsByKind[K],
    oldHost: string,
  ): FactsByKind[K] | undefined {
    if (kind === 'attachments') {
      const { file, uuid } = fact as FactsByKind['attachments']
      const oldUrl = `${oldHost}/attachments/${uuid}`
      return this.#files.has(file) ? { ...fact, oldUrl } : undefined
    }
    if (kind !== 'releases') return fact
    const release = fact as FactsByKind['releases']
    const assets = release.assets.filter(({ file }) => this.#files.has(file))
    return { ...release, assets } as unknown as FactsByKind[K]
  }

  /** Rewrites links to attachments in the body of a fact, so that they match the URLs of the attachment records. */
  #withRewrittenLinks<F extends object>(fact: F, forge: string, urls: HostUrls): F {
    const { body } = fact as { body?: unknown }
    if (typeof body !== 'string' || this.#attachmentIds.size === 0) return fact
    const { attachment } = createRecordUrls(urls)
    const addressOf = (uuid: string) =>
      this.#attachmentIds.has(uuid) ? attachment(uuid) : undefined
    return { ...fact, body: rewriteAttachmentLinks(body, forge, addressOf) }
  }

  async #readFileNames(): Promise<void> {
    for (const { records } of this.#parts.repositories)
      for (const key of archivedKeysOf(records)) {
        const contents = await this.#parts.contents.of<FilesContents>(key)
        for (const { path } of contents?.files ?? []) {
          this.#files.add(path)
          if (path.startsWith('attachments/')) this.#attachmentIds.add(path.split('/')[1] ?? '')
        }
      }
  }

  async #readPeople(): Promise<void> {
    for (const rows of this.#rows) {
      await this.#forEach(rows, 'organizations', (fact) => {
        const visible = this.#parts.maySeeMembers(fact) ? fact : { ...fact, members: [] }
        this.organizations.set(nameKey(fact.login), visible)
        this.#addVisibleLogins(visible.members)
      })
      await this.#forEach(rows, 'teams', (team) => this.#addTeam(team))
      await this.#forEach(rows, 'users', (user) => this.#addUser(user))
      await this.#forEach(rows, 'members', (user) => {
        if (this.#visibleLogins.has(nameKey(user.login))) this.#addUser(user)
      })
    }
  }

  async #forEach<K extends Kind>(
    rows: RepositoryRows,
    kind: K,
    use: (fact: RowsByKind[K]) => void,
  ) {
    const used = this.#map(rows, kind, use)
    while (!(await used.next()).done);
  }

  /** Adds a user. A profile with an avatar replaces one without an avatar, which may consist only of a login. */
  #addUser(user: User): void {
    const known = this.users.get(nameKey(user.login))
    if (!known || (known.avatar === null && user.avatar !== null))
      this.users.set(nameKey(user.login), user)
  }

  #addVisibleLogins(members: readonly { login: string }[]): void {
    for (const { login } of members) this.#visibleLogins.add(nameKey(login))
  }

  /** Adds a team, or adds the permissions if another repository had the same team. Members are left out if they are not visible. */
  #addTeam(fact: Team): void {
    const key = `${nameKey(fact.organization)}/${fact.slug}`
    const areMembersVisible =
      (this.organizations.get(nameKey(fact.organization))?.members.length ?? 0) > 0
    const known = this.teams.get(key)
    const permissions = [...(known?.permissions ?? []), ...fact.permissions]
    const members = areMembersVisible ? fact.members : []
    this.teams.set(key, { ...fact, permissions, members })
    this.#addVisibleLogins(members)
  }
}
