import type { Generated, Selectable } from 'kysely'

/**
 * The tables of both engines. Flags are 0 or 1, times are epoch milliseconds, structured values are JSON text. `schema/` creates
 * them.
 */
export interface Tables {
  accounts: AccountsTable
  tokens: TokensTable
  memberships: MembershipsTable
  repositories: RepositoriesTable
  collaborators: CollaboratorsTable
  migrations: MigrationsTable
  facts: FactsTable
  snapshots: SnapshotsTable
  repository_exports: RepositoryExportsTable
  reused_repositories: ReusedRepositoriesTable
  jobs: JobsTable
  segments: SegmentsTable
  repository_locks: RepositoryLocksTable
  secrets: SecretsTable
  tallies: TalliesTable
  tallies_by_minute: TalliesByMinuteTable
  workers: WorkersTable
  stored_segments: StoredSegmentsTable
  leases: LeasesTable
  blob_errors: BlobErrorsTable
  store_checks: StoreChecksTable
  sessions: SessionsTable
  repository_checks: RepositoryChecksTable
  record_exports: RecordExportsTable
  discussion_readings: DiscussionReadingsTable
  discussion_groups: DiscussionGroupsTable
  forge_budgets: ForgeBudgetsTable
  forge_questions: ForgeQuestionsTable
  schedules: SchedulesTable
  schedule_runs: ScheduleRunsTable
  forge_repositories: ForgeRepositoriesTable
  forge_rights: ForgeRightsTable
  webhooks: WebhooksTable
  webhook_events: WebhookEventsTable
  webhook_deliveries: WebhookDeliveriesTable
  webhook_tallies: WebhookTalliesTable
}

export interface AccountsTable {
  id: Generated<number>
  login: string
  /** The login in lower case: logins are compared without regard to case. */
  login_key: string
  type: string
  site_admin: number
  created_at: number
  migration_count: Generated<number>
  /** Its id on the forge: of a user since the first sign-in, of an organization since it was first listed. */
  forge_id: Generated<number | null>
}

interface TokensTable {
  id: Generated<number>
  account_id: number
  name: string
  digest: string
  created_at: number
  expires_at: number | null
  last_used_at: number | null
  revoked_at: number | null
  /** When the forge last confirmed a token of the forge. Null for our own tokens. */
  asked_at: Generated<number | null>
}

/** What the forge answered about a token that is not ours. */
interface ForgeQuestionsTable {
  digest: string
  /** `asking`, `good`, `refused`, or `unknown` if the forge did not answer. */
  answer: string
  /** The forge is not asked again before this time. */
  next_at: number
}

interface MembershipsTable {
  organization_id: number
  account_id: number
  /** Where the membership comes from: `manual`, `file` or `forge`. */
  origin: string
  role: string
}

/** The last check of a repository at the source. */
interface RepositoryChecksTable {
  full_name: string
  checked_at: number
  /** `passed` or `failed`. */
  outcome: string
  reason: string | null
  warning: string | null
  bytes: number
  took_ms: number
}

interface SessionsTable {
  /** The digest of the cookie's secret. */
  digest: string
  token_id: number
  /** For a token of the forge: the key that decrypts the token in the cookie. */
  token_key: Generated<string | null>
  created_at: number
  expires_at: number
}

interface RepositoriesTable {
  id: Generated<number>
  owner_id: number
  name: string
  name_key: string
  /** The source's stamp for the facts: as long as it is the same, so are the facts. */
  stamp: string
  facts: string
  /** Lower-case `owner/name` of the repository that this is a fork of. */
  fork_of: string | null
  /** Why it cannot be read, as shown to its owner. */
  problem: string | null
  /** When the source stopped listing it. The row stays, so that a disk that comes back has the same ids. */
  missing_since: number | null
  /** Why it is hidden although the source has it: the forge does not know it. Set only if it is missing. */
  hidden: Generated<string | null>
  synced_at: number
  /** Facts by which lists are filtered and sorted. */
  private: number
  created_at: number
  updated_at: number
  pushed_at: number
}

interface CollaboratorsTable {
  repository_id: number
  login_key: string
  /** Where the permission comes from: `file` or `forge`. */
  origin: string
  permission: string
}

export interface MigrationsTable {
  id: Generated<number>
  guid: string
  owner_id: number
  /** The owner as JSON, as it was when the migration started. */
  owner: string
  /** The account that started it, as JSON, as it was then. */
  started_by: Generated<string | null>
  options: string
  state: string
  /** Why it failed. */
  reason: string | null
  repository_count: number
  /** Incremented with every change of the row: a client's copy is stale if this is higher. */
  version: number
  created_at: number
  updated_at: number
  /** The number of repositories whose export has not ended. */
  remaining: number
  /** For a migration of organizations only: the organizations as JSON, as they were at the start. */
  organizations: string | null
  /** Set while there is an archive. */
  archive_expires_at: number | null
  /** The blob of the complete archive, if the store could compose one. */
  archive_key: string | null
  /** When that blob was last compared with the digests of its segments. */
  archive_checked_at: Generated<number | null>
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
  /** The segment of its manifest; null for an old archive, which has it in the metadata. */
  manifest_key: string | null
}

/** What was known of a repository, as one viewer saw it. Stored once, however many snapshots refer to it. */
interface FactsTable {
  id: Generated<number>
  /** SHA-256 of `facts`, base64url. */
  digest: string
  repository_id: number
  full_name: string
  facts: string
  /** When a migration last started to refer to it, to within a day. */
  named_at: number
  size_kib: number
}

/** The repositories of a migration, in parts. Never changed after the insert. */
interface SnapshotsTable {
  migration_id: number
  /** The number of this part, from 0. */
  part: number
  /** A JSON list, in the order of the request. */
  facts_ids: string
}

/** A repository of a migration that is exported by its own job. The row is inserted when the job starts. */
interface RepositoryExportsTable {
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

/** The records (issues, pull requests, comments) of one repository of a migration. */
export interface RecordExportsTable {
  migration_id: number
  position: number
  started_at: number
  /** Issues and pull requests: read so far, and in total. */
  records_done: Generated<number>
  records_expected: Generated<number>
  /** The forge is not asked before this time, and why. */
  waiting_until: number | null
  waiting_for: string | null
  finished_at: number | null
  /** The blob from which records are written; not part of the archive. */
  rows_key: string | null
  /** The segments of their files, if there are any. */
  attachments_key: string | null
  assets_key: string | null
  /** All records are at least as new as this. */
  as_of: number | null
  /** What the forge does not provide: a JSON list of sentences. */
  notes: string | null
  reused: Generated<number>
}

/** Repositories of a migration that one job found unchanged. */
interface ReusedRepositoriesTable {
  migration_id: number
  /** `finished_order` of the first of them. */
  first_order: number
  finished_at: number
  /** A JSON list of `[position, segment key, bytes, milliseconds from start to finished_at, warning?]`. */
  repositories: string
}

export interface SegmentsTable {
  /** The key of the blob. */
  key: string
  /** The state of the source that it was made from; null for the metadata of one migration, which is never reused. */
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
  /** When an export last used it, or an archive with it was last deleted. */
  named_at: number
  /** CRC of the stored bytes; null if no archive contains them. */
  stored_crc32: number | null
  /** When the stored bytes were last written, or compared with the digest. */
  checked_at: number
  /** When they were found to be wrong, truncated or missing; null if they are intact. */
  damaged_at: number | null
}

/** The number of stored blobs that were compared with their digests, by result. */
interface StoreChecksTable {
  result: string
  count: number
  bytes: number
}

/** One row with the totals of `segments`, updated by triggers. */
interface StoredSegmentsTable {
  count: number
  bytes: number
}

interface RepositoryLocksTable {
  migration_id: number
  repository_id: number
  locked_at: number
  expires_at: number
  /** Released, but perhaps not yet removed at the source: the row is deleted when it is. */
  released_at: number | null
}

interface TalliesTable {
  name: string
  count: number
  bytes: number
}

interface LeasesTable {
  name: string
  /** Identifies who holds the lease. A process with this value can acquire the lease again before it expires. */
  holder: string
  /** New each time it is acquired. */
  token: string
  expires_at: number
  /** When a holder last completed its work, if that is recorded. */
  completed_at: Generated<number | null>
}

interface BlobErrorsTable {
  operation: string
  count: number
}

interface TalliesByMinuteTable extends TalliesTable {
  /** The start of the minute. */
  minute: number
}

export interface WorkersTable {
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
  /** Free space on the disk it exports to; null if it does not export, or not to a disk. */
  free_bytes: number | null
  /** The size of its snapshots; null if it does not export. */
  scratch_bytes: number | null
}

interface SecretsTable {
  name: string
  value: string
}

interface DiscussionReadingsTable {
  /** The forge's address, a space, and the lower-case `owner/name`. */
  repository: string
  cursor: string
  kept_at: number
}

interface DiscussionGroupsTable {
  repository: string
  key: string
  /** The order in which groups are written: the number of the issue, 0 if there is none. */
  position: number
  version: string
  /** The rest of the group, as JSON. */
  content: string
}

interface ForgeBudgetsTable {
  forge: string
  /** The end of the period in which `taken` requests were made. */
  ends_at: number
  taken: number
  /** The forge asked us to make no request before this time. */
  held_until: number
}

/** A migration that is started every day or every week. */
export interface SchedulesTable {
  id: Generated<number>
  /** The owner of the migrations: a person or an organization. */
  owner_id: number
  /** The account that each run acts as. */
  maker_id: number
  /** A JSON list of full names. */
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
  /** Changed in the transaction that inserts the run. */
  next_run_at: number
  paused_at: number | null
  /** Why the service paused it; null if a person did. */
  paused_reason: string | null
  created_at: number
  updated_at: number
}

export interface ScheduleRunsTable {
  id: Generated<number>
  schedule_id: number
  /** Null if a person started the run. */
  due_at: number | null
  noted_at: number
  migration_id: number | null
  /** `started`, `skipped` or `failed`. */
  outcome: string
  /** Why no migration was started. */
  reason: string | null
  /** A JSON list of the skipped repositories, with reasons. */
  skipped: string
}

/** The forge's last answer about a repository. */
interface ForgeRepositoriesTable {
  /** `owner/name` in lower case. */
  name_key: string
  facts: string
  asked_at: number
}

/** When the forge last answered what an account may do. */
interface ForgeRightsTable {
  account_id: number
  asked_at: number
  /** 'deleted' or 'suspended' if the forge reports that. */
  removal: Generated<string | null>
}

interface JobsTable {
  id: Generated<number>
  kind: string
  payload: string
  failures: number
  /** When it may be claimed: while a worker holds it, the time when the lease expires. */
  due_at: number
  created_at: number
  /** Set while a worker holds it; a new value with every claim. */
  lease: string | null
  /** Jobs of one batch can be cancelled together. */
  batch: string | null
  line: Generated<string>
}

export interface WebhooksTable {
  id: Generated<number>
  owner_id: number
  url: string
  content_type: string
  /** In clear text: a signature cannot be made from a digest. */
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
export interface WebhookEventsTable {
  id: Generated<number>
  guid: string
  webhook_id: number
  event: string
  action: string | null
  /** The subject of the event as it was then, as JSON. */
  facts: string
  /** The JSON to send; made at the first attempt, and the same for all later ones. */
  payload: string | null
  /** `waiting`, `delivered` or `given up`. */
  state: string
  /** Incremented with every redelivery: jobs of an earlier number are void. */
  turn: number
  tries: number
  /** The attempts left before it is given up. */
  tries_left: number
  /** The time of the next attempt. */
  next_at: number
  created_at: number
  /** 1 while it waits without a job, because the limits of concurrent deliveries are reached. */
  parked: Generated<number>
}

/** One attempt to deliver an event. */
export interface WebhookDeliveriesTable {
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

interface WebhookTalliesTable {
  outcome: string
  count: number
}

export type Row<Table> = Selectable<Table>
