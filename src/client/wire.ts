/** Of what servers of this API answer, the parts that are read here. Whatever else they say is handed on as it came. */

export interface MigrationJson {
  id: number
  guid: string
  /** `pending`, `exporting`, `exported` or `failed`. */
  state: string
  lock_repositories: boolean
  repositories: RepositoryJson[]
  created_at: string
  updated_at: string
  /** There while the archive is. */
  archive_url?: string
}

export interface RepositoryJson {
  full_name: string
  private: boolean
  size?: number
  default_branch?: string
  pushed_at?: string | null
  permissions?: { admin?: boolean }
}

/** What may be said when a migration is started. `allow_partial` is Godwit's own. */
export const startFlags = {
  lock_repositories: 'refuse pushes to the repositories until they are unlocked',
  exclude_metadata: 'leave out what is known of the repositories beside git',
  exclude_git_data: 'leave out the git repositories themselves',
  exclude_attachments: 'leave out attachments',
  exclude_releases: 'leave out releases',
  exclude_owner_projects: 'leave out projects of the owner',
  org_metadata_only: 'carry what is known of organizations, and no repository',
  allow_partial: 'carry what can be carried and list the rest, rather than fail (Godwit)',
} as const

export type StartFlag = keyof typeof startFlags

export interface StartJson extends Partial<Record<StartFlag, boolean>> {
  repositories: string[]
}

/** Godwit's own: what starting a migration would do. */
export interface ForecastJson {
  repositories: {
    full_name: string
    bytes: number
    reused: boolean
    refusal: string | null
    /** Absent from an older server's answer. */
    warning?: string | null
  }[]
  bytes_to_write: number
  free_bytes: number | null
  estimated_seconds: number | null
}

/** Godwit's own, from here on: how an export gets on. */
export interface RepositoryProgressJson {
  full_name: string
  state: string
  bytes_done: number
  reused: boolean
  reason: string | null
  warning?: string | null
}

export interface TotalsJson {
  repositories: number
  carried: number
  reused: number
  omitted: number
  remaining: number
  bytes_done: number
  bytes_expected: number
  bytes_per_second: number | null
  seconds_left: number | null
}

export interface EndJson {
  state: string
  reason: string | null
}

export const hasEnded = ({ state }: { state: string }): boolean =>
  state === 'exported' || state === 'failed'
