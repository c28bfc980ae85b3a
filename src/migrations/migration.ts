import type { Account } from '../accounts/account.ts'
import type { RepositoryFacts } from '../repositories/facts.ts'
import type { MigrationState } from './states.ts'

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
