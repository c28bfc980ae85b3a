/**
 * The tables of both engines, in the order in which they are created, with the SQL of each column; `id` is a key that is never used
 * twice. The types of `packages/server/src/db/database.ts` follow from this. Flags are 0 or 1, times are epoch milliseconds, structured
 * values are JSON text. A column may be omitted from an insert if it is nullable, an `id` or has a default.
 */
export const initialTables = {
  /** People and organizations. */
  accounts: {
    id: 'id',
    login: 'text not null',
    /** The login in lower case: logins are compared without regard to case. */
    login_key: 'text not null unique',
    type: 'text not null',
    site_admin: 'integer not null',
    created_at: 'bigint not null',
    migration_count: 'bigint not null default 0',
    /** The account's id on the forge. A user gets it at the first sign-in, an organization when it is first listed. */
    forge_id: 'bigint',
    /** The quota of its archives in bytes: null for the default of the service, -1 for none. */
    max_archive_bytes: 'bigint',
  },

  /** Only digests of tokens are stored. */
  tokens: {
    id: 'id',
    account_id: 'bigint not null references accounts (id)',
    /**
     * `token` if an operator created it, `own` if its account did, `forge` if it belongs to the forge, `session` if it stands for a
     * browser session and nobody knows it.
     */
    kind: 'text not null',
    name: 'text not null',
    digest: 'text not null unique',
    created_at: 'bigint not null',
    expires_at: 'bigint',
    last_used_at: 'bigint',
    last_used_ip: 'text',
    revoked_at: 'bigint',
    /** Whether its account revoked it, and not an operator. */
    self_revoked: 'integer not null default 0',
    read_only: 'integer not null default 0',
    /** The only organization in which it is valid. */
    organization_id: 'bigint references accounts (id) on delete cascade',
    /** When the forge last accepted or rejected a token that it issued. Null for tokens that Godwit issued. */
    forge_checked_at: 'bigint',
  },

  sessions: {
    /** The digest of the cookie's secret. */
    digest: 'text primary key',
    token_id: 'bigint not null references tokens (id) on delete cascade',
    /** For a token of the forge: the key that decrypts the token in the cookie. */
    token_key: 'text',
    created_at: 'bigint not null',
    expires_at: 'bigint not null',
  },

  /** Who an account is at the OpenID provider or at the authenticating proxy. An account has at most one identity. */
  identities: {
    issuer: 'text not null',
    subject: 'text not null',
    account_id: 'bigint not null unique references accounts (id) on delete cascade',
  },

  memberships: {
    organization_id: 'bigint not null references accounts (id)',
    account_id: 'bigint not null references accounts (id)',
    /** Where the membership comes from: `manual`, `file` or `forge`. */
    origin: 'text not null',
    role: 'text not null',
  },

  secrets: { name: 'text primary key', value: 'text not null' },

  /**
   * One row for every action that changed something or gave access, and for refused attempts. Rows are never changed. No foreign
   * keys: a row outlives the account that it is about.
   */
  audit_log: {
    id: 'id',
    at: 'bigint not null',
    /** The login of the account that acted, or `command line`, `the service` or `not signed in`, which cannot be logins. */
    actor: 'text not null',
    actor_key: 'text not null',
    /** Null if no account acted. */
    actor_id: 'bigint',
    /** The name of the token or session that the account used. */
    token_name: 'text',
    address: 'text',
    action: 'text not null',
    /** The account that the action is about, which sees the row too. */
    owner_id: 'bigint',
    /** Such as `migration 7`. */
    subject: 'text',
    /** `done` or `refused`. */
    outcome: 'text not null',
    /** JSON. */
    details: 'text not null',
  },

  repositories: {
    id: 'id',
    owner_id: 'bigint not null references accounts (id)',
    name: 'text not null',
    name_key: 'text not null',
    /** Changes whenever the metadata changes at the source. */
    change_token: 'text not null',
    metadata: 'text not null',
    /** Lower-case `owner/name` of the repository that this is a fork of. */
    fork_of: 'text',
    /** Why it cannot be read, as shown to its owner. */
    problem: 'text',
    /** When the source stopped listing it. The row stays, so that a repository that comes back has the same id. */
    missing_since: 'bigint',
    /** Why a repository that exists at the source counts as missing: the forge does not know it. */
    hidden: 'text',
    synced_at: 'bigint not null',
    /** `private` and the times repeat `metadata`, because lists are filtered and sorted by them. */
    private: 'integer not null',
    created_at: 'bigint not null',
    updated_at: 'bigint not null',
    pushed_at: 'bigint not null',
  },

  collaborators: {
    repository_id: 'bigint not null references repositories (id) on delete cascade',
    login_key: 'text not null',
    /** Where the permission comes from: `file` or `forge`. */
    origin: 'text not null',
    permission: 'text not null',
  },

  /** The metadata of a repository as one viewer saw it. Equal metadata is stored once, for all migrations. */
  repository_metadata: {
    id: 'id',
    /** SHA-256 of `metadata`, base64url. */
    digest: 'text not null unique',
    repository_id: 'bigint not null',
    full_name: 'text not null',
    metadata: 'text not null',
    /** When a migration with this metadata last started, up to a day late. */
    last_used_at: 'bigint not null',
    size_kib: 'bigint not null',
  },

  /** The last check of a repository at the source. */
  repository_checks: {
    full_name: 'text primary key',
    checked_at: 'bigint not null',
    /** `passed` or `failed`. */
    outcome: 'text not null',
    reason: 'text',
  },

  migrations: {
    id: 'id',
    guid: 'text not null unique',
    owner_id: 'bigint not null references accounts (id)',
    /** The owner as JSON, as it was when the migration started. */
    owner: 'text not null',
    /** The account that started it, as JSON, as it was then. */
    started_by: 'text',
    /** A name that the account chose. */
    name: 'text',
    options: 'text not null',
    state: 'text not null',
    /** Why it failed. */
    reason: 'text',
    repository_count: 'integer not null',
    /** Incremented with every change of the row, so that a client can tell whether its copy is stale. */
    version: 'integer not null',
    created_at: 'bigint not null',
    updated_at: 'bigint not null',
    /** The number of repositories whose export has not ended. */
    remaining: 'integer not null',
    /** For a migration of organizations only: the organizations as JSON, as they were at the start. */
    organizations: 'text',
    /** Set while there is an archive. */
    archive_expires_at: 'bigint',
    /** The blob of the complete archive, if the blob store can compose one from segments. */
    archive_key: 'text',
    /** When that blob was last compared with the digests of its segments. */
    archive_checked_at: 'bigint',
    started_at: 'bigint',
    ended_at: 'bigint',
    /** Bytes of the exported repositories. */
    bytes_done: 'bigint not null default 0',
    reused_count: 'integer not null default 0',
    skipped_count: 'integer not null default 0',
    failed_count: 'integer not null default 0',
    /** Exported repositories with missing LFS objects. Set at the end. */
    incomplete_count: 'integer not null default 0',
    /** Set while there is an archive. */
    archive_bytes: 'bigint',
    /** The segment of the archive's metadata. */
    metadata_key: 'text',
    /** The segment of the archive's manifest. */
    manifest_key: 'text',
  },

  /** The repositories of a migration, split into rows of limited size. Never changed after the insert. */
  repository_lists: {
    migration_id: 'bigint not null references migrations (id)',
    /** The number of this part, from 0. */
    part: 'integer not null',
    /** A JSON list, in the order of the request. */
    metadata_ids: 'text not null',
  },

  /** A repository of a migration that is exported by its own job. The row is inserted when the job starts. */
  repository_exports: {
    migration_id: 'bigint not null references migrations (id)',
    position: 'integer not null',
    /** `exported`, `skipped` or `failed`; null until the export has ended. */
    outcome: 'text',
    segment_key: 'text',
    /** Why it was not exported. */
    reason: 'text',
    /** Shown to the owner although the repository was exported. */
    warning: 'text',
    /** The number of LFS objects that its host does not have. */
    missing_lfs: 'integer not null default 0',
    started_at: 'bigint',
    finished_at: 'bigint',
    /** Its number in the order in which the migration's repositories ended. */
    finished_order: 'integer',
    bytes_expected: 'bigint',
    bytes_done: 'bigint not null',
    /** When `bytes_done` was last written before the end. */
    progress_at: 'bigint',
    reused: 'integer not null',
    /** The state of the repository when its export began. */
    fingerprint: 'text',
  },

  /** Repositories of a migration that one job found unchanged. */
  reused_repositories: {
    migration_id: 'bigint not null references migrations (id)',
    /** `finished_order` of the first of them. */
    first_order: 'integer not null',
    finished_at: 'bigint not null',
    /** A JSON list of `[position, segment key, bytes, milliseconds from start to finished_at, warning?, missing_lfs?]`. */
    repositories: 'text not null',
  },

  /** The records (issues, pull requests, comments) of one repository of a migration. */
  record_exports: {
    migration_id: 'bigint not null references migrations (id)',
    position: 'integer not null',
    started_at: 'bigint not null',
    /** Issues and pull requests: read so far, and in total. */
    records_done: 'integer not null default 0',
    records_expected: 'integer not null default 0',
    /** When `records_done` was last written before the end. */
    progress_at: 'bigint',
    /** No request is sent to the forge before this time. `waiting_for` is the reason. */
    waiting_until: 'bigint',
    waiting_for: 'text',
    finished_at: 'bigint',
    /** The blob of the records that were read; not part of the archive. */
    rows_key: 'text',
    /** The segments of attachments and release assets, if there are any. */
    attachments_key: 'text',
    assets_key: 'text',
    /** The records include all changes up to this time. */
    as_of: 'bigint',
    /** A JSON list of sentences about data that the forge does not provide. */
    losses: 'text',
    reused: 'integer not null default 0',
  },

  repository_locks: {
    migration_id: 'bigint not null references migrations (id)',
    repository_id: 'bigint not null references repositories (id)',
    locked_at: 'bigint not null',
    expires_at: 'bigint not null',
    /** When it was released. The row is deleted when the lock is removed at the source. */
    released_at: 'bigint',
  },

  segments: {
    /** The key of the blob. */
    key: 'text primary key',
    /** Identifies the state of the source that it was made from. Null for metadata of a migration, which is never reused. */
    fingerprint: 'text unique',
    repository_id: 'bigint',
    /** The size of the repository when it was last examined. */
    bytes: 'bigint',
    /** Proves that the repository still has this fingerprint and size; null if only another examination can prove it. */
    change_token: 'text',
    length: 'bigint not null',
    plain_length: 'bigint not null',
    crc32: 'bigint not null',
    sha256: 'text not null',
    /** Its part of the manifest, as JSON. */
    contents: 'text',
    /** What the next snapshot of the same repository need not verify again. */
    verified: 'text',
    /** Shown to the owner although the repository was exported. */
    warning: 'text',
    /** The number of LFS objects that the host did not have. */
    missing_lfs: 'integer not null default 0',
    created_at: 'bigint not null',
    /** When an export last used it, or an archive that contains it was last deleted. */
    last_used_at: 'bigint not null',
    /** CRC of the stored bytes; null if no archive contains them. */
    stored_crc32: 'bigint',
    /** When the stored bytes were last written, or compared with the digest. */
    checked_at: 'bigint not null',
    /** When the stored bytes were found to be wrong, truncated or missing; null if they are intact. */
    damaged_at: 'bigint',
  },

  /** One row with the totals of `segments`, updated by triggers. */
  stored_segments: { count: 'bigint not null', bytes: 'bigint not null' },

  /** The number of stored blobs that were compared with their digests, by result. */
  store_checks: { result: 'text primary key', count: 'bigint not null', bytes: 'bigint not null' },

  /** A migration that is started every day or every week. */
  schedules: {
    id: 'id',
    /** The owner of the migrations: a person or an organization. */
    owner_id: 'bigint not null references accounts (id)',
    /** The account with whose permissions each run starts its migration. */
    runs_as_id: 'bigint not null references accounts (id)',
    /** The name of its migrations. */
    name: 'text',
    /** Whether each run migrates all repositories that the owner may migrate then. */
    all_repositories: 'integer not null',
    /** A JSON list of full names; empty if `all_repositories`. */
    repositories: 'text not null',
    options: 'text not null',
    /** `day` or `week`. */
    every: 'text not null',
    /** Null if it runs every day. */
    weekday: 'text',
    /** `03:30`, in its time zone. */
    at: 'text not null',
    time_zone: 'text not null',
    /** The number of archives to keep. */
    keep: 'integer not null',
    /** Updated in the transaction that inserts the run. */
    next_run_at: 'bigint not null',
    paused_at: 'bigint',
    /** Why the service paused it; null if a person did. */
    paused_reason: 'text',
    created_at: 'bigint not null',
    updated_at: 'bigint not null',
  },

  schedule_runs: {
    id: 'id',
    schedule_id: 'bigint not null references schedules (id) on delete cascade',
    /** Null if a person started the run. */
    due_at: 'bigint',
    created_at: 'bigint not null',
    migration_id: 'bigint references migrations (id)',
    /** `started`, `skipped` or `failed`. */
    outcome: 'text not null',
    /** Why no migration was started. */
    reason: 'text',
    /** A JSON list of the skipped repositories, with reasons. */
    skipped: 'text not null',
  },

  webhooks: {
    id: 'id',
    owner_id: 'bigint not null references accounts (id)',
    url: 'text not null',
    content_type: 'text not null',
    /** In plain text, because it signs requests. */
    secret: 'text',
    /** A JSON list. */
    events: 'text not null',
    active: 'integer not null',
    created_at: 'bigint not null',
    updated_at: 'bigint not null',
    /** The time of the first failure since the last success. */
    failing_since: 'bigint',
    /** Why Godwit deactivated it. */
    disabled_reason: 'text',
    /** The result of the last delivery, as JSON. */
    last_delivery: 'text',
  },

  /** An event to be delivered to one webhook. */
  webhook_events: {
    id: 'id',
    guid: 'text not null unique',
    webhook_id: 'bigint not null',
    event: 'text not null',
    action: 'text',
    /** The subject of the event when it occurred, as JSON. */
    subject: 'text not null',
    /** The JSON to send. Rendered at the first attempt and sent again at all later ones. */
    payload: 'text',
    /** `waiting`, `delivered` or `given_up`. */
    state: 'text not null',
    /** Incremented with every redelivery. Jobs with an earlier number are ignored. */
    generation: 'integer not null',
    attempts: 'integer not null',
    /** The attempts left before it is given up. */
    attempts_left: 'integer not null',
    /** The time of the next attempt. */
    next_at: 'bigint not null',
    created_at: 'bigint not null',
    /** 1 while it waits without a job, because the limits of concurrent deliveries are reached. */
    parked: 'integer not null default 0',
  },

  /** One attempt to deliver an event. */
  webhook_deliveries: {
    id: 'id',
    event_id: 'bigint not null',
    webhook_id: 'bigint not null',
    delivered_at: 'bigint not null',
    redelivery: 'integer not null',
    duration_ms: 'integer not null',
    /** The result as shown to the owner. */
    status: 'text not null',
    /** The status code of the response; 0 if there was none. */
    status_code: 'integer not null',
    url: 'text not null',
    /** JSON. */
    request_headers: 'text not null',
    /** Headers and the first bytes of the body, as JSON. */
    response: 'text',
  },

  delivery_counts: { outcome: 'text primary key', count: 'bigint not null' },

  /** Whether the forge accepts a token that Godwit did not issue. */
  forge_token_checks: {
    digest: 'text primary key',
    /**
     * `checking` during the request, then `accepted`, `rejected`, `refused` if the token may read less than its owner, or `unknown` if
     * the forge did not respond.
     */
    result: 'text not null',
    /** Why it was refused, for the owner of the token. */
    refusal: 'text',
    check_again_at: 'bigint not null',
  },

  /** A repository as the forge last described it. */
  forge_repositories: {
    /** `owner/name` in lower case. */
    name_key: 'text primary key',
    metadata: 'text not null',
    requested_at: 'bigint not null',
  },

  /** The last time that the permissions of an account were read from the forge. */
  forge_permissions: {
    account_id: 'bigint primary key references accounts (id)',
    requested_at: 'bigint not null',
    /** `deleted`, `suspended` or `refused`, if the forge reported that. */
    removal: 'text',
  },

  forge_budgets: {
    forge: 'text primary key',
    /** The end of the period in which `taken` requests were made. */
    ends_at: 'bigint not null',
    taken: 'integer not null',
    /** The forge allows no requests before this time. */
    held_until: 'bigint not null',
  },

  discussion_readings: {
    /** The forge's address, a space, and the lower-case `owner/name`. */
    repository: 'text primary key',
    cursor: 'text not null',
    updated_at: 'bigint not null',
  },

  discussion_groups: {
    repository: 'text not null',
    key: 'text not null',
    /** Groups are written in this order: the number of the issue, or 0. */
    position: 'bigint not null',
    version: 'text not null',
    /** The rest of the group, as JSON. */
    content: 'text not null',
  },

  jobs: {
    id: 'id',
    kind: 'text not null',
    payload: 'text not null',
    failures: 'integer not null',
    /** A worker may claim the job at this time. While a worker holds it, this is when its lease expires. */
    due_at: 'bigint not null',
    created_at: 'bigint not null',
    /** Set while a worker holds the job: a new random value with every claim. */
    lease: 'text',
    /** Jobs of one batch can be cancelled together. */
    batch: 'text',
    queue: "text not null default 'jobs'",
  },

  leases: {
    name: 'text primary key',
    /** A process with this value can acquire the lease again before it expires. */
    holder: 'text not null',
    /** New each time it is acquired. */
    token: 'text not null',
    expires_at: 'bigint not null',
    /** When a holder last completed its work, if that is recorded. */
    completed_at: 'bigint',
  },

  workers: {
    id: 'text primary key',
    host: 'text not null',
    pid: 'integer not null',
    role: 'text not null',
    version: 'text not null',
    concurrency: 'integer not null',
    running_jobs: 'integer not null',
    started_at: 'bigint not null',
    /** The time of its last heartbeat. */
    seen_at: 'bigint not null',
    /** Free space of the disk to which it exports; null if it does not export, or not to a disk. */
    free_bytes: 'bigint',
    /** The size of its snapshots; null if it does not export. */
    scratch_bytes: 'bigint',
  },

  outcome_counts: { name: 'text primary key', count: 'bigint not null', bytes: 'bigint not null' },

  outcome_counts_by_minute: {
    name: 'text not null',
    count: 'bigint not null',
    bytes: 'bigint not null',
    /** The start of the minute. */
    minute: 'bigint not null',
  },

  blob_errors: { operation: 'text primary key', count: 'bigint not null' },

  /** What `godwit copy` did with this service. */
  copies: {
    /** `target`: it is a copy. `source`: it was copied to another place. `blobs`: only its archives were. */
    role: 'text primary key',
    /** `started` or `finished`. */
    state: 'text not null',
    /** For `target`, the owner mark of the copied service; for `source`, where it is now; for `blobs`, where the archives were. */
    address: 'text not null',
    changed_at: 'bigint not null',
  },
} as const
