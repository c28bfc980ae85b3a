import type { Account } from '../accounts/account.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'

/** What the caller asked for, beside the repositories. */
export interface MigrationOptions {
  lockRepositories: boolean
  excludeMetadata: boolean
  excludeGitData: boolean
  excludeAttachments: boolean
  excludeReleases: boolean
  excludeOwnerProjects: boolean
  orgMetadataOnly: boolean
  /** Skip repositories that cannot be exported, rather than fail. */
  allowPartial: boolean
}

/** Of a migration for which nothing was said: everything, unlocked, whole or not at all. */
export const ORDINARY: Readonly<MigrationOptions> = {
  lockRepositories: false,
  excludeMetadata: false,
  excludeGitData: false,
  excludeAttachments: false,
  excludeReleases: false,
  excludeOwnerProjects: false,
  orgMetadataOnly: false,
  allowPartial: false,
}

export interface Migration {
  id: number
  guid: string
  owner: Account
  options: MigrationOptions
  state: MigrationState
  reason: string | null
  repositoryCount: number
  /** Moves on with every change of the migration. */
  version: number
  createdAt: number
  updatedAt: number
  /** Set while there is an archive to download. */
  archiveExpiresAt: number | null
  /** The blob of the whole archive, where the store could make one. */
  archiveKey: string | null
}

/** A migration that has just been started, with the repositories it covers. */
export interface StartedMigration extends Migration {
  repositories: RepositoryFacts[]
  /** To the same, in the same order. */
  references: readonly number[]
}

const migrationStates = ['pending', 'exporting', 'exported', 'failed'] as const
export type MigrationState = (typeof migrationStates)[number]

/** All that may ever happen to a migration's state. There is no way back: a retry is a new migration. */
const MOVES: Record<MigrationState, readonly MigrationState[]> = {
  pending: ['exporting', 'failed'],
  exporting: ['exported', 'failed'],
  exported: [],
  failed: [],
}

export const unfinishedStates: readonly ShownState[] = migrationStates.filter(
  (state) => MOVES[state].length > 0,
)

/** The reason of a migration that did not fail but was cancelled: for the wire, which has no word for it, both are `failed`. */
export const CANCELLED = 'cancelled'

/** As everything that is ours tells it. */
export type ShownState = MigrationState | typeof CANCELLED

export const shownState = (state: MigrationState, reason: string | null): ShownState =>
  state === 'failed' && reason === CANCELLED ? CANCELLED : state

export class InvalidStateChange extends Error {
  override name = 'InvalidStateChange'
}

/** The states from which `to` can be reached in one move. */
export function statesBefore(to: MigrationState): readonly MigrationState[] {
  return migrationStates.filter((from) => MOVES[from].includes(to))
}

/** The jobs a migration becomes. Their names are in the queue of running services: a rename needs both for a while. */
export const BEGIN_EXPORT = 'begin-export'
export const EXPORT_RECORDS = 'export-records'
export const EXPORT_REPOSITORY = 'export-repository'
export const SEAL_ARCHIVE = 'seal-archive'

export const SETTLE_LOCK = 'settle-lock'

export interface LockJob {
  repositoryId: number
}

export interface MigrationJob {
  migrationId: number
}

/** One repository of a migration, to be exported. */
export interface ExportTask {
  migrationId: number
  position: number
}

/** All jobs of one migration. */
export const batchOf = (migrationId: number): string => `migration ${migrationId}`
