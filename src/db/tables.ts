import type { Generated, Selectable } from 'kysely'

/**
 * The rows, alike on both engines: flags are 0 or 1, times are epoch milliseconds, structured values are JSON text.
 * Nothing outside a `*-store.ts` sees them.
 */
export interface Tables {
  accounts: AccountsTable
  tokens: TokensTable
  repositories: RepositoriesTable
  collaborators: CollaboratorsTable
  migrations: MigrationsTable
  migration_repositories: MigrationRepositoriesTable
  jobs: JobsTable
}

export interface AccountsTable {
  id: Generated<number>
  login: string
  /** Lower case: logins are compared without regard to case. */
  login_key: string
  type: string
  site_admin: number
  created_at: number
}

export interface TokensTable {
  id: Generated<number>
  account_id: number
  name: string
  digest: string
  created_at: number
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
}

export interface RepositoriesTable {
  id: Generated<number>
  owner_id: number
  name: string
  name_key: string
  /** What the source gave for the facts below; the same stamp again means the facts still hold. */
  stamp: string
  facts: string
  /** Lower-case `owner/name` that this is a fork of. */
  fork_of: string | null
  /** Why it cannot be read, in words for its owner. */
  problem: string | null
  /** When the source stopped listing it. The row stays: a disk that comes back brings the same ids. */
  missing_since: number | null
  synced_at: number
}

export interface CollaboratorsTable {
  repository_id: number
  login_key: string
  permission: string
}

export interface MigrationsTable {
  id: Generated<number>
  guid: string
  owner_id: number
  /** The owner as it was when the migration started. */
  owner: string
  options: string
  state: string
  /** Why it failed. */
  reason: string | null
  repository_count: number
  /** Counts every change of the row: what a client has seen is stale when this has moved on. */
  version: number
  created_at: number
  updated_at: number
}

export interface MigrationRepositoriesTable {
  migration_id: number
  position: number
  repository_id: number
  full_name: string
  facts: string
}

export interface JobsTable {
  id: Generated<number>
  kind: string
  payload: string
  failures: number
  /** When it may be taken: while someone holds it, the moment their lease is over. */
  due_at: number
  created_at: number
  /** Who holds it; a new value with every claim. */
  lease: string | null
}

export type Row<Table> = Selectable<Table>
