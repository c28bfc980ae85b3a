import type { Organization, Team, User } from '@godwit/archive/records/people'
import type { RecordsByKind } from '@godwit/archive/records/record-kinds'
import { createRecordUrls, type HostUrls } from '@godwit/archive/records/record-urls'
import type { Repository } from '@godwit/archive/records/repository'
import { toGitHubRecord } from '@godwit/archive/records/write-records'
import { rewriteAttachmentLinks } from '@godwit/hosts/forge/attachment-links'
import { nameKey } from '../../accounts/account.ts'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { ExportedRepository } from '../../migrations/export-store.ts'
import { archivedKeysOf } from '../../migrations/outcomes.ts'
import type { StoredContents } from '../../migrations/segment-store.ts'
import { fullNameOf } from '../../repositories/repository-metadata.ts'
import {
  type FilesContents,
  type Kind,
  type RowsByKind,
  type RowsContents,
  readRows,
} from './record-rows.ts'

interface ArchivedRecordsDependencies {
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

export type ArchivedRecords = NonNullable<Awaited<ReturnType<typeof openArchivedRecords>>>

/**
 * Opens the records that were read from the forge for the repositories of one archive; undefined if none of them has any. Users,
 * organizations and teams are held in memory. The rest is read from the blob store, one record at a time.
 */
export async function openArchivedRecords(dependencies: ArchivedRecordsDependencies) {
  const { repositories, contents, blobs, signal, api, maySeeMembers } = dependencies
  const allRows: RepositoryRows[] = []
  for (const { metadata, records } of repositories) {
    const found = records && (await contents.of<RowsContents>(records.rowsKey))
    if (found)
      allRows.push({ fullName: fullNameOf(metadata), key: records.rowsKey, contents: found })
  }
  if (allRows.length === 0) return undefined

  const users = new Map<string, User>()
  const organizations = new Map<string, Organization>()
  const teams = new Map<string, Team>()
  /** The members of organizations and teams whose members the viewer may see. */
  const visibleLogins = new Set<string>()
  /** The paths of all attachments and release assets in the archive. */
  const files = new Set<string>()
  /** The UUIDs of all attachments in the archive. */
  const attachmentIds = new Set<string>()

  for (const key of repositories.flatMap(({ records }) => archivedKeysOf(records)))
    for (const { path } of (await contents.of<FilesContents>(key))?.files ?? []) {
      files.add(path)
      if (path.startsWith('attachments/')) attachmentIds.add(path.split('/')[1] ?? '')
    }
  for (const rows of allRows) {
    await forEach(rows, 'organizations', (record) => {
      const visible = maySeeMembers(record) ? record : { ...record, members: [] }
      organizations.set(nameKey(record.login), visible)
      addVisibleLogins(visible.members)
    })
    await forEach(rows, 'teams', addTeam)
    await forEach(rows, 'users', addUser)
    await forEach(rows, 'members', (user) => {
      if (visibleLogins.has(nameKey(user.login))) addUser(user)
    })
  }

  async function forEach<K extends Kind>(
    rows: RepositoryRows,
    kind: K,
    use: (record: RowsByKind[K]) => void,
  ) {
    const used = map(rows, kind, use)
    while (!(await used.next()).done);
  }

  /**
   * Yields the result of `convert` for each record of one kind. Throws SegmentDamaged if the rows are damaged. That is detected only
   * after the last row, so if `convert` fails, the remaining rows are read to find out whether damage is the reason.
   */
  async function* map<K extends Kind, T>(
    { key, contents: { sections } }: RepositoryRows,
    kind: K,
    convert: (record: RowsByKind[K]) => T,
  ): AsyncGenerator<T> {
    const records = readRows(blobs, key, sections, kind, signal)
    for await (const record of records) {
      let converted: T
      try {
        converted = convert(record)
      } catch (error) {
        while (!(await records.next()).done);
        throw error
      }
      yield converted
    }
  }

  /** Adds a user. A profile with an avatar replaces one without an avatar, which may consist only of a login. */
  function addUser(user: User): void {
    const known = users.get(nameKey(user.login))
    if (!known || (known.avatar === null && user.avatar !== null))
      users.set(nameKey(user.login), user)
  }

  function addVisibleLogins(members: readonly { login: string }[]): void {
    for (const { login } of members) visibleLogins.add(nameKey(login))
  }

  /** Adds a team, or adds the permissions if another repository had the same team. Members are left out if they are not visible. */
  function addTeam(record: Team): void {
    const key = `${nameKey(record.organization)}/${record.slug}`
    const areMembersVisible =
      (organizations.get(nameKey(record.organization))?.members.length ?? 0) > 0
    const permissions = [...(teams.get(key)?.permissions ?? []), ...record.permissions]
    const members = areMembersVisible ? record.members : []
    teams.set(key, { ...record, permissions, members })
    addVisibleLogins(members)
  }

  /**
   * Adds the old addresses of attachments. Removes references to files that are not in the archive, because the forge did not have
   * them or they are excluded.
   */
  function withFiles<K extends keyof RecordsByKind>(
    kind: K,
    record: RecordsByKind[K],
    oldHost: string,
  ): RecordsByKind[K] | undefined {
    if (kind === 'attachments') {
      const { file, uuid } = record as RecordsByKind['attachments']
      const oldUrl = `${oldHost}/attachments/${uuid}`
      return files.has(file) ? { ...record, oldUrl } : undefined
    }
    if (kind !== 'releases') return record
    const release = record as RecordsByKind['releases']
    const assets = release.assets.filter(({ file }) => files.has(file))
    return { ...release, assets } as unknown as RecordsByKind[K]
  }

  /** Rewrites links to attachments in the body of a record, so that they match the URLs of the attachments. */
  function withRewrittenLinks<F extends object>(record: F, forge: string, urls: HostUrls): F {
    const { body } = record as { body?: unknown }
    if (typeof body !== 'string' || attachmentIds.size === 0) return record
    const { attachment } = createRecordUrls(urls)
    const addressOf = (uuid: string) => (attachmentIds.has(uuid) ? attachment(uuid) : undefined)
    return { ...record, body: rewriteAttachmentLinks(body, forge, addressOf) }
  }

  return {
    users,
    organizations,
    teams,

    /** Returns the login as the forge spells it, or unchanged if the forge does not know it. */
    forgeSpelling(login: string): string {
      const key = nameKey(login)
      return users.get(key)?.login ?? organizations.get(key)?.login ?? login
    },

    async repository(fullName: string): Promise<Repository | undefined> {
      const rows = allRows.find((candidate) => candidate.fullName === fullName)
      // All rows are read, because damage is detected only at the end.
      const found = rows && (await Array.fromAsync(map(rows, 'repositories', (record) => record)))
      return found?.[0]
    },

    /** Yields the records of one kind, as they are written to the archive. */
    async *records(kind: Kind & keyof RecordsByKind, urls: HostUrls) {
      for (const rows of allRows) {
        const { forge } = rows.contents
        const oldHost = urls.host === api ? forge : urls.host
        const records = map(rows, kind, (record) => {
          const archived = withFiles(kind, record, oldHost)
          return archived && toGitHubRecord(kind, withRewrittenLinks(archived, forge, urls), urls)
        })
        for await (const record of records) if (record) yield record
      }
    },
  }
}
