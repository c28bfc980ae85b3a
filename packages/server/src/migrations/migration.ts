import type { Account } from '../accounts/account.ts'
import type { Row } from '../db/database.ts'

/** Exports everything without locks, and fails if any repository fails. */
export const DEFAULT_OPTIONS = {
  lockRepositories: false,
  excludeMetadata: false,
  excludeGitData: false,
  excludeAttachments: false,
  excludeReleases: false,
  excludeOwnerProjects: false,
  orgMetadataOnly: false,
  /** Skip repositories that cannot be exported, rather than fail. */
  allowPartial: false,
}

export type MigrationOptions = Record<keyof typeof DEFAULT_OPTIONS, boolean>

export interface Migration extends ReturnType<typeof migrationOf> {
  /** A part of its repository list that was read with it. */
  listPart?: ListPart
}

/** References to repository metadata: a part of the list of a migration. */
interface ListPart {
  /** The number of the part, from 0; null if there is no such part. */
  part: number | null
  references: readonly number[]
}

export const migrationOf = (row: Row<'migrations'>) => ({
  id: row.id,
  guid: row.guid,
  owner: JSON.parse(row.owner) as Account,
  /** The name that the account gave it. */
  name: row.name,
  options: JSON.parse(row.options) as MigrationOptions,
  state: row.state as MigrationState,
  reason: row.reason,
  repositoryCount: row.repository_count,
  /** Incremented with every change. */
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  /** Null if there is no archive. */
  archiveExpiresAt: row.archive_expires_at,
  /** The blob of the complete archive, if the store could compose one. */
  archiveKey: row.archive_key,
})

const migrationStates = ['pending', 'exporting', 'exported', 'failed'] as const
export type MigrationState = (typeof migrationStates)[number]

/** All possible state changes. An ended migration never changes: a retry is a new migration. */
const NEXT_STATES: Record<MigrationState, readonly MigrationState[]> = {
  pending: ['exporting', 'failed'],
  exporting: ['exported', 'failed'],
  exported: [],
  failed: [],
}

export const unfinishedStates: readonly ShownState[] = migrationStates.filter(
  (state) => NEXT_STATES[state].length > 0,
)

/** The reason of a cancelled migration. GitHub's API has no such state: there it is `failed`. */
export const CANCELLED = 'cancelled'

/** The state as shown outside GitHub's API. */
export type ShownState = MigrationState | typeof CANCELLED

export const shownState = (state: MigrationState, reason: string | null): ShownState =>
  state === 'failed' && reason === CANCELLED ? CANCELLED : state

export class InvalidStateChange extends Error {
  override name = 'InvalidStateChange'
}

/** Returns the states that can change to `to`. */
export function statesBefore(to: MigrationState): readonly MigrationState[] {
  return migrationStates.filter((from) => NEXT_STATES[from].includes(to))
}

/** Kinds of jobs. Jobs may be in the queue during an upgrade, so a new name needs handlers for both. */
export const BEGIN_EXPORT = 'begin-export'
export const EXPORT_RECORDS = 'export-records'
export const EXPORT_REPOSITORY = 'export-repository'
export const EXPORT_SMALL_REPOSITORIES = 'export-small-repositories'
export const SEAL_ARCHIVE = 'seal-archive'

export const RECONCILE_LOCK = 'reconcile-lock'

export interface LockJob {
  repositoryId: number
}

export interface MigrationJob {
  migrationId: number
}

/** One repository of a migration. */
export interface ExportTask {
  migrationId: number
  position: number
}

/** Several small repositories of a migration. */
export interface SmallExportsTask {
  migrationId: number
  positions: readonly number[]
}

/** Returns what the audit log says about a migration. */
export const aboutMigration = ({
  id,
  guid,
  owner,
}: Pick<Migration, 'id' | 'guid'> & { owner: Pick<Account, 'id' | 'login'> }) => ({
  subject: `migration ${id}`,
  owner,
  details: { migration: id, guid },
})

/** Returns the batch of all jobs of a migration. */
export const batchOfMigration = (migrationId: number): string => `migration ${migrationId}`
