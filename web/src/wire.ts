/** What the API takes and answers, as far as the pages know it. */

export interface User {
  login: string
  site_admin: boolean
}

export interface Repository {
  id: number
  full_name: string
  description: string | null
  private: boolean
  archived: boolean
  language: string | null
  /** In KiB. */
  size: number
  pushed_at: string | null
}

export type MigrationState = 'pending' | 'exporting' | 'exported' | 'failed'

export const isUnfinished = (state: MigrationState): boolean =>
  state === 'pending' || state === 'exporting'

export interface StartOptions {
  lock_repositories: boolean
  allow_partial: boolean
  exclude_metadata: boolean
  exclude_git_data: boolean
  exclude_attachments: boolean
  exclude_releases: boolean
  exclude_owner_projects: boolean
  org_metadata_only: boolean
}

export interface StartRequest extends Partial<StartOptions> {
  repositories: string[]
}

export interface Migration {
  id: number
}

interface RepositoryCounts {
  total: number
  carried: number
  reused: number
  omitted: number
  remaining: number
}

export interface Summary {
  id: number
  guid: string
  state: MigrationState
  reason: string | null
  lock_repositories: boolean
  exclude_metadata: boolean
  exclude_git_data: boolean
  org_metadata_only: boolean
  allow_partial: boolean
  created_at: string
  started_at: string | null
  ended_at: string | null
  repositories: RepositoryCounts
  bytes_done: number
  archive: { bytes: number; expires_at: string } | null
  held_locks: number
}

export interface Totals {
  repositories: number
  carried: number
  reused: number
  omitted: number
  remaining: number
  bytes_done: number
  bytes_expected: number | null
  bytes_per_second: number | null
  seconds_left: number | null
}

export interface RepositoryProgress {
  full_name: string
  state: 'waiting' | 'exporting' | 'carried' | 'omitted'
  bytes_done: number
  bytes_expected: number | null
  reused: boolean
  reason: string | null
  warning: string | null
}

export interface Progress {
  state: MigrationState
  reason: string | null
  started_at: string | null
  ended_at: string | null
  totals: Totals
  repositories: RepositoryProgress[]
}

export interface Lock {
  full_name: string
  locked_at: string
  expires_at: string
}

export interface ArchiveLink {
  url: string
  name: string
}

export interface Forecast {
  repositories: {
    full_name: string
    bytes: number
    lfs_bytes: number
    reused: boolean
    refusal: string | null
    warning: string | null
  }[]
  bytes_to_write: number
  free_bytes: number | null
  estimated_seconds: number | null
}

export type Period = 'hour' | 'day' | 'week'

export interface Bucket {
  start: string
  repositories: number
  reused: number
  omitted: number
  bytes: number
  bytes_reused: number
  migrations_exported: number
  migrations_failed: number
}

export interface ServiceState {
  observed_at: string
  version: string
  migrations: Record<MigrationState, number>
  running: {
    id: number
    guid: string
    login: string
    state: MigrationState
    created_at: string
    started_at: string | null
    repositories: RepositoryCounts
    bytes_done: number
  }[]
  queue: {
    jobs: number
    oldest_at: string | null
    kinds: { kind: string; jobs: number; oldest_at: string | null }[]
  }
  throughput: { period: Period; bucket_seconds: number; buckets: Bucket[] }
  storage: {
    segments: number
    segment_bytes: number
    archives: number
    archive_bytes: number
    free_bytes: number | null
  }
  locks: {
    held: number
    newest: (Lock & { migration_id: number; login: string })[]
  }
  failures: {
    id: number
    guid: string
    login: string
    ended_at: string
    reason: string | null
    repositories: { full_name: string; reason: string | null }[]
  }[]
  workers: {
    id: string
    host: string
    pid: number
    role: 'all' | 'api' | 'worker'
    version: string
    started_at: string
    seen_at: string
    alive: boolean
    running_jobs: number
    concurrency: number
  }[]
}
