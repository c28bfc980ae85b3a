import { archiveName } from '@godwit/contract/schemas/archive-name'
import { type StartFlag, type StartFlags, startFlags } from '@godwit/contract/schemas/migration'
import type * as wire from '@godwit/contract/schemas/types'
import type { components } from '@octokit/openapi-types'
import type { Account } from '../../accounts/account.ts'
import type { HeldLock } from '../../migrations/lock-store.ts'
import {
  DEFAULT_OPTIONS,
  type Migration,
  type MigrationOptions,
  shownState,
} from '../../migrations/migration.ts'
import type { StartRequest } from '../../migrations/start-migration.ts'
import type { Summary } from '../../migrations/summaries.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type { RepositoryMetadata } from '../../repositories/repository-metadata.ts'
import { nodeId, type Rendering, utcTimestamp, utcTimestampOrNull } from './rendering.ts'
import { extendedRepositoryJson } from './repository-json.ts'
import { userJson } from './user-json.ts'

/** The URL below which the migrations and webhooks of an account are. */
export const scopeAddress = ({ type, login }: Account, { api }: Addresses): string =>
  type === 'Organization' ? `${api}/orgs/${login}` : `${api}/user`

export const migrationsAddress = (owner: Account, addresses: Addresses): string =>
  `${scopeAddress(owner, addresses)}/migrations`

/** `owner` is the owner's account as it is now, on which the URLs depend: `migration.owner` is as of the start. */
export function migrationJson(
  migration: Migration,
  repositories: readonly RepositoryMetadata[],
  { addresses, migrationTime }: Rendering,
  owner = migration.owner,
) {
  const { allow_partial: _, ...githubFlags } = startFlagsOf(migration.options)
  const url = `${migrationsAddress(owner, addresses)}/${migration.id}`
  return {
    id: migration.id,
    node_id: nodeId('Migration', migration.id),
    owner: userJson(migration.owner, addresses),
    guid: migration.guid,
    state: migration.state,
    ...githubFlags,
    repositories: repositories.map((metadata) => extendedRepositoryJson(metadata, addresses)),
    url,
    created_at: migrationTime(migration.createdAt),
    updated_at: migrationTime(migration.updatedAt),
    ...(migration.archiveExpiresAt !== null && { archive_url: `${url}/archive` }),
  } satisfies components['schemas']['migration'] & wire.Migration
}

/** Omits the repositories and GitHub's URLs, so that pages can show many migrations. */
export function summaryJson(summary: Summary): wire.Summary {
  const { options, archive } = summary
  return {
    id: summary.id,
    guid: summary.guid,
    name: summary.name,
    state: shownState(summary.state, summary.reason),
    reason: summary.reason,
    lock_repositories: options.lockRepositories,
    exclude_metadata: options.excludeMetadata,
    exclude_git_data: options.excludeGitData,
    org_metadata_only: options.orgMetadataOnly,
    allow_partial: options.allowPartial,
    created_at: utcTimestamp(summary.createdAt),
    started_at: utcTimestampOrNull(summary.startedAt),
    ended_at: utcTimestampOrNull(summary.endedAt),
    repositories: summary.repositories,
    bytes_done: summary.bytesDone,
    archive: archive && {
      bytes: archive.bytes,
      expires_at: utcTimestamp(archive.expiresAt),
      damaged: archive.isDamaged,
    },
    held_locks: summary.heldLocks,
    names: summary.names,
  }
}

export function lockJson({ owner, name, lockedAt, expiresAt }: HeldLock): wire.Lock {
  return {
    full_name: `${owner}/${name}`,
    locked_at: utcTimestamp(lockedAt),
    expires_at: utcTimestamp(expiresAt),
  }
}

/** Renders a lock with its migration. */
export function lockWithMigrationJson(lock: HeldLock): wire.LockWithMigration {
  return { ...lockJson(lock), migration_id: lock.migrationId, login: lock.holder }
}

/** The file name of the archive of a migration. */
export const archiveNameOf = ({ id, owner, createdAt, name }: Migration): string =>
  archiveName({ id, login: owner.login, createdAt: new Date(createdAt), name })

export interface ArchiveLink {
  url: string
  expiresAt: number
}

export function archiveLinkJson(
  summary: Summary,
  { url, expiresAt }: ArchiveLink,
): wire.ArchiveLink {
  return {
    url,
    name: archiveNameOf(summary),
    bytes: summary.archive?.bytes ?? 0,
    expires_at: utcTimestamp(expiresAt),
  }
}

const OPTION_OF_FLAG = {
  lock_repositories: 'lockRepositories',
  exclude_metadata: 'excludeMetadata',
  exclude_git_data: 'excludeGitData',
  exclude_attachments: 'excludeAttachments',
  exclude_releases: 'excludeReleases',
  exclude_owner_projects: 'excludeOwnerProjects',
  org_metadata_only: 'orgMetadataOnly',
  allow_partial: 'allowPartial',
} as const satisfies Record<StartFlag, keyof MigrationOptions>

/** Converts the body of a start request, which was validated by its schema. */
export function startRequestOf(body: wire.StartRequest): StartRequest {
  const { repositories } = body
  return {
    repositories,
    name: nameOf(body) ?? null,
    options: { ...DEFAULT_OPTIONS, ...optionsOf(body) },
  }
}

/** Returns the trimmed name, null if it is empty, or undefined if the body has none. */
export const nameOf = ({ name }: { name?: string | null }): string | null | undefined =>
  name === undefined ? undefined : name?.trim() || null

/** Returns the options that the body sets. */
export function optionsOf(body: StartFlags): Partial<MigrationOptions> {
  const sent = startFlags.filter((flag) => body[flag] !== undefined)
  return Object.fromEntries(sent.map((flag) => [OPTION_OF_FLAG[flag], body[flag]]))
}

export function startFlagsOf(options: MigrationOptions): Required<StartFlags> {
  const flags = startFlags.map((flag) => [flag, options[OPTION_OF_FLAG[flag]]])
  return Object.fromEntries(flags) as Required<StartFlags>
}
