import type { Generated, Selectable } from 'kysely'

/**
 * The tables of both engines, in the order of `schema/`, which creates them. Flags are 0 or 1, times are epoch milliseconds, structured
 * values are JSON text. A column may be omitted from an insert if it is nullable or `Generated`.
 */
export interface Tables {
  accounts: {
    id: Generated<number>
    login: string
    /** The login in lower case: logins are compared without regard to case. */
    login_key: string
    type: string
    site_admin: number
    created_at: number
    migration_count: Generated<number>
    /** The account's id on the forge. A user gets it at the first sign-in, an organization when it is first listed. */
    forge_id: number | null
  }

  tokens: {
    id: Generated<number>
    account_id: number
    /**
     * `token` if an operator created it, `own` if its account did, `forge` if it belongs to the forge, `session` if it stands for a
     * browser session and nobody knows it.
     */
    kind: string
    name: string
    digest: string
    created_at: number
    expires_at: number | null
    last_used_at: number | null
    last_used_ip: string | null
    revoked_at: number | null
    /** Whether its account revoked it, and not an operator. */
    self_revoked: Generated<number>
    read_only: Generated<number>
    /** The only organization in which it is valid. */
    organization_id: number | null
    /** When the forge last accepted or rejected a token that it issued. Null for tokens that Godwit issued. */
    forge_checked_at: number | null
  }

  sessions: {
    /** The digest of the cookie's secret. */
    digest: string
    token_id: number
    /** For a token of the forge: the key that decrypts the token in the cookie. */
    token_key: string | null
    created_at: number
    expires_at: number
  }

  /** Who an account is at the OpenID provider or at the authenticating proxy. An account has at most one identity. */
  identities: { issuer: string; subject: string; account_id: number; created_at: number }

  memberships: {
    organization_id: number
    account_id: number
    /** Where the membership comes from: `manual`, `file` or `forge`. */
    origin: string
    role: string
  }

  secrets: { name: string; value: string }

  repositories: {
    id: Generated<number>
    owner_id: number
    name: string
    name_key: string
    /** Changes whenever the facts change at the source. */
    stamp: string
    facts: string
    /** Lower-case `owner/name` of the repository that this is a fork of. */
    fork_of: string | null
    /** Why it cannot be read, as shown to its owner. */
    problem: string | null
    /** When the source stopped listing it. The row stays, so that a repository that comes back has the same id. */
    missing_since: number | null
    /** Why a repository that exists at the source counts as missing: the forge does not know it. */
    hidden: string | null
    synced_at: number
    /** `private` and the times repeat `facts`, because lists are filtered and sorted by them. */
    private: number
    created_at: number
    updated_at: number
    pushed_at: number
  }

  collaborators: {
    repository_id: number
    login_key: string
    /** Where the permission comes from: `file` or `forge`. */
    origin: string
    permission: string
  }

  /** The facts of a repository as one viewer saw them. Equal facts are stored once, for all snapshots. */
  facts: {
    id: Generated<number>
    /** SHA-256 of `facts`, base64url. */
    digest: string
    repository_id: number
    full_name: string
    facts: string
    /** When a migration with these facts last started, up to a day late. */
    last_used_at: number
    size_kib: number
  }

  /** The last check of a repository at the source. */
  repository_checks: {
    full_name: string
    checked_at: number
    /** `passed` or `failed`. */
    outcome: string
    reason: string | null
    warning: string | null
    bytes: number
    took_ms: number
  }

  migrations: {
    id: Generated<number>
    guid: string
    owner_id: number
    /** The owner as JSON, as it was when the migration started. */
    owner: string
    /** The account that started it, as JSON, as it was then. */
    started_by: string | null
    /** A name that the account chose. */
    name: string | null
    options: string
    state: string
    /** Why it failed. */
    reason: string | null
    repository_count: number
    /** Incremented with every change of the row, so that a client can tell whether its copy is stale. */
    version: number
    created_at: number
    updated_at: number
    /** The number of repositories whose export has not ended. */
    remaining: number
    /** For a migration of organizations only: the organizations as JSON, as they were at the start. */
    organizations: string | null
    /** Set while there is an archive. */
    archive_expires_at: number | null
    /** The blob of the complete archive, if the blob store can compose one from segments. */
    archive_key: string | null
    /** When that blob was last compared with the digests of its segments. */
    archive_checked_at: number | null
    started_at: number | null
    ended_at: number | null
    /** Bytes of the exported repositories. */
    bytes_done: Generated<number>
    reused_count: Generated<number>
    skipped_count: Generated<number>
    failed_count: Generated<number>
    /** Set while there is an archive. */
    archive_bytes: number | null
    /** The segment of the archive's metadata. */
    metadata_key: string | null
    /** The segment of the archive's manifest. */
    manifest_key: string | null
  }

  /** The repositories of a migration, split into rows of limited size. Never changed after the insert. */
  snapshots: {
    migration_id: number
    /** The number of this part, from 0. */
    part: number
    /** A JSON list, in the order of the request. */
    facts_ids: string
  }

  /** A repository of a migration that is exported by its own job. The row is inserted when the job starts. */
  repository_exports: {
    migration_id: number
    position: number
    /** `exported`, `skipped` or `failed`; null until the export has ended. */
    outcome: string | null
    segment_key: string | null
    /** Why it was not exported. */
    reason: string | null
    /** Shown to the owner although the repository was exported. */
    warning: string | null
    started_at: number | null
    finished_at: number | null
    /** Its number in the order in which the migration's repositories ended. */
    finished_order: number | null
    bytes_expected: number | null
    bytes_done: number
    reused: number
    /** The state of the repository when its export began. */
    fingerprint: string | null
  }

  /** Repositories of a migration that one job found unchanged. */
  reused_repositories: {
    migration_id: number
    /** `finished_order` of the first of them. */
    first_order: number
    finished_at: number
    /** A JSON list of `[position, segment key, bytes, milliseconds from start to finished_at, warning?]`. */
    repositories: string
  }

  /** The records (issues, pull requests, comments) of one repository of a migration. */
  record_exports: {
    migration_id: number
    position: number
    started_at: number
    /** Issues and pull requests: read so far, and in total. */
    records_done: Generated<number>
    records_expected: Generated<number>
    /** No request is sent to the forge before this time. `waiting_for` is the reason. */
    waiting_until: number | null
    waiting_for: string | null
    finished_at: number | null
    /** The blob of the records that were read; not part of the archive. */
    rows_key: string | null
    /** The segments of attachments and release assets, if there are any. */
    attachments_key: string | null
    assets_key: string | null
    /** The records include all changes up to this time. */
    as_of: number | null
    /** A JSON list of sentences about data that the forge does not provide. */
    losses: string | null
    reused: Generated<number>
  }

  repository_locks: {
    migration_id: number
    repository_id: number
    locked_at: number
    expires_at: number
    /** When it was released. The row is deleted when the lock is removed at the source. */
    released_at: number | null
  }

  segments: {
    /** The key of the blob. */
    key: string
    /** Identifies the state of the source that it was made from. Null for metadata of a migration, which is never reused. */
    fingerprint: string | null
    repository_id: number | null
    length: number
    plain_length: number
    crc32: number
    sha256: string
    /** Its part of the manifest, as JSON. */
    contents: string | null
    /** What the next snapshot of the same repository need not verify again. */
    verified: string | null
    /** Shown to the owner although the repository was exported. */
    warning: string | null
    created_at: number
    /** When an export last used it, or an archive that contains it was last deleted. */
    last_used_at: number
    /** CRC of the stored bytes; null if no archive contains them. */
    stored_crc32: number | null
    /** When the stored bytes were last written, or compared with the digest. */
    checked_at: number
    /** When the stored bytes were found to be wrong, truncated or missing; null if they are intact. */
    damaged_at: number | null
  }

  /** One row with the totals of `segments`, updated by triggers. */
  stored_segments: { count: number; bytes: number }

  /** The number of stored blobs that were compared with their digests, by result. */
  store_checks: { result: string; count: number; bytes: number }

  /** A migration that is started every day or every week. */
  schedules: {
    id: Generated<number>
    /** The owner of the migrations: a person or an organization. */
    owner_id: number
    /** The account with whose permissions each run starts its migration. */
    runs_as_id: number
    /** The name of its migrations. */
    name: string | null
    /** Whether each run migrates all repositories that the owner may migrate then. */
    all_repositories: number
    /** A JSON list of full names; empty if `all_repositories`. */
    repositories: string
    options: string
    /** `day` or `week`. */
    every: string
    /** Null if it runs every day. */
    weekday: string | null
    /** `03:30`, in its time zone. */
    at: string
    time_zone: string
    /** The number of archives to keep. */
    keep: number
    /** Updated in the transaction that inserts the run. */
    next_run_at: number
    paused_at: number | null
    /** Why the service paused it; null if a person did. */
    paused_reason: string | null
    created_at: number
    updated_at: number
  }

  schedule_runs: {
    id: Generated<number>
    schedule_id: number
    /** Null if a person started the run. */
    due_at: number | null
    created_at: number
    migration_id: number | null
    /** `started`, `skipped` or `failed`. */
    outcome: string
    /** Why no migration was started. */
    reason: string | null
    /** A JSON list of the skipped repositories, with reasons. */
    skipped: string
  }

  webhooks: {
    id: Generated<number>
    owner_id: number
    url: string
    content_type: string
    /** In plain text, because it signs requests. */
    secret: string | null
    /** A JSON list. */
    events: string
    active: number
    created_at: number
    updated_at: number
    /** The time of the first failure since the last success. */
    failing_since: number | null
    /** Why Godwit deactivated it. */
    disabled_reason: string | null
    /** The result of the last delivery, as JSON. */
    last_delivery: string | null
  }

  /** An event to be delivered to one webhook. */
  webhook_events: {
    id: Generated<number>
    guid: string
    webhook_id: number
    event: string
    action: string | null
    /** The subject of the event when it occurred, as JSON. */
    facts: string
    /** The JSON to send. Rendered at the first attempt and sent again at all later ones. */
    payload: string | null
    /** `waiting`, `delivered` or `given_up`. */
    state: string
    /** Incremented with every redelivery. Jobs with an earlier number are ignored. */
    generation: number
    attempts: number
    /** The attempts left before it is given up. */
    attempts_left: number
    /** The time of the next attempt. */
    next_at: number
    created_at: number
    /** 1 while it waits without a job, because the limits of concurrent deliveries are reached. */
    parked: Generated<number>
  }

  /** One attempt to deliver an event. */
  webhook_deliveries: {
    id: Generated<number>
    event_id: number
    webhook_id: number
    delivered_at: number
    redelivery: number
    duration_ms: number
    /** The result as shown to the owner. */
    status: string
    /** The status code of the response; 0 if there was none. */
    status_code: number
    url: string
    /** JSON. */
    request_headers: string
    /** Headers and the first bytes of the body, as JSON. */
    response: string | null
  }

  webhook_tallies: { outcome: string; count: number }

  /** Whether the forge accepts a token that Godwit did not issue. */
  forge_token_checks: {
    digest: string
    /** `checking` during the request, then `accepted`, `rejected`, or `unknown` if the forge did not respond. */
    result: string
    check_again_at: number
  }

  /** A repository as the forge last described it. */
  forge_repositories: {
    /** `owner/name` in lower case. */
    name_key: string
    facts: string
    requested_at: number
  }

  /** The last time that the permissions of an account were read from the forge. */
  forge_rights: {
    account_id: number
    requested_at: number
    /** `deleted` or `suspended`, if the forge reported that. */
    removal: string | null
  }

  forge_budgets: {
    forge: string
    /** The end of the period in which `taken` requests were made. */
    ends_at: number
    taken: number
    /** The forge allows no requests before this time. */
    held_until: number
  }

  discussion_readings: {
    /** The forge's address, a space, and the lower-case `owner/name`. */
    repository: string
    cursor: string
    updated_at: number
  }

  discussion_groups: {
    repository: string
    key: string
    /** Groups are written in this order: the number of the issue, or 0. */
    position: number
    version: string
    /** The rest of the group, as JSON. */
    content: string
  }

  jobs: {
    id: Generated<number>
    kind: string
    payload: string
    failures: number
    /** A worker may claim the job at this time. While a worker holds it, this is when its lease expires. */
    due_at: number
    created_at: number
    /** Set while a worker holds the job: a new random value with every claim. */
    lease: string | null
    /** Jobs of one batch can be cancelled together. */
    batch: string | null
    queue: Generated<string>
  }

  leases: {
    name: string
    /** A process with this value can acquire the lease again before it expires. */
    holder: string
    /** New each time it is acquired. */
    token: string
    expires_at: number
    /** When a holder last completed its work, if that is recorded. */
    completed_at: number | null
  }

  workers: {
    id: string
    host: string
    pid: number
    role: 'all' | 'api' | 'worker'
    version: string
    concurrency: number
    running_jobs: number
    started_at: number
    /** The time of its last heartbeat. */
    seen_at: number
    /** Free space of the disk to which it exports; null if it does not export, or not to a disk. */
    free_bytes: number | null
    /** The size of its snapshots; null if it does not export. */
    scratch_bytes: number | null
  }

  tallies: { name: string; count: number; bytes: number }

  tallies_by_minute: {
    name: string
    count: number
    bytes: number
    /** The start of the minute. */
    minute: number
  }

  blob_errors: { operation: string; count: number }
}

/** A row as it is read from a table. */
export type Row<Name extends keyof Tables> = Selectable<Tables[Name]>
