import type { Generated, Selectable } from 'kysely'

/**
 * The rows, alike on both engines: flags are 0 or 1, times are epoch milliseconds, structured values are JSON text.
 * Nothing outside a `*-store.ts` sees them.
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
  /** Lower case: logins are compared without regard to case. */
  login_key: string
  type: string
  site_admin: number
  created_at: number
  /** How many migrations it has. */
  migration_count: Generated<number>
  /** Its number on the forge, once the forge has told it: of a user at the first sign-in, of an organization when it is first listed. */
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
  /** Of a token of the forge: when the forge last said that it is good. Null for our own. */
  asked_at: Generated<number | null>
}

/** What the forge said of a token that is not ours. */
interface ForgeQuestionsTable {
  /** Of the token. */
  digest: string
  /** `asking`, `good`, `refused` or `unknown`, where no answer came. */
  answer: string
  /** Nobody asks before. */
  next_at: number
}

interface MembershipsTable {
  organization_id: number
  account_id: number
  /** Who says so: `manual`, `file` or `forge`. */
  origin: string
  role: string
}

/** What was last found of a repository at the source. */
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
  /** Of the cookie's secret. */
  digest: string
  token_id: number
  /** Where it is a token of the forge: the key to the text of it that the cookie holds. */
  token_key: Generated<string | null>
  created_at: number
  expires_at: number
}

interface RepositoriesTable {
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
  /** Why it is nobody's though it is there: the forge does not know it. Only of what is missing. */
  hidden: Generated<string | null>
  synced_at: number
  /** Those of the facts that lists are filtered and sorted by. */
  private: number
  created_at: number
  updated_at: number
  pushed_at: number
}

interface CollaboratorsTable {
  repository_id: number
  login_key: string
  /** Who says so: `file` or `forge`. */
  origin: string
  permission: string
}

export interface MigrationsTable {
  id: Generated<number>
  guid: string
  owner_id: number
  /** The owner as it was when the migration started. */
  owner: string
  /** The person who started it, as they were then. Null for migrations of some time ago. */
  started_by: Generated<string | null>
  options: string
  state: string
  /** Why it failed. */
  reason: string | null
  repository_count: number
  /** Counts every change of the row: what a client has seen is stale when this has moved on. */
  version: number
  created_at: number
  updated_at: number
  /** How many repositories have not yet come to an end. */
  remaining: number
  /** For a migration of organizations alone: which, as they were at the start. */
  organizations: string | null
  /** Set while there is an archive. */
  archive_expires_at: number | null
  /** The blob of the whole archive, where there is one. */
  archive_key: string | null
  /** When the bytes of that blob were last compared with the digests of its segments. */
  archive_checked_at: Generated<number | null>
  started_at: number | null
  ended_at: number | null
  /** Of the repositories that were exported; the counts beside it are of what has ended, too. */
  bytes_done: Generated<number>
  reused_count: Generated<number>
  skipped_count: Generated<number>
  failed_count: Generated<number>
  /** Set while there is an archive. */
  archive_bytes: number | null
  /** The segment of the archive's metadata, while there is an archive. */
  metadata_key: string | null
  /** That of its manifest; archives of some time ago have it in the metadata. */
  manifest_key: string | null
}

/** What was known of a repository, as one viewer saw it; kept once, however many snapshots hold it. */
interface FactsTable {
  id: Generated<number>
  /** Of `facts`: SHA-256, base64url. */
  digest: string
  repository_id: number
  full_name: string
  facts: string
  /** When a migration last came to refer to it, to within a day. */
  named_at: number
  size_kib: number
}

/** Never changed once it is written. */
interface SnapshotsTable {
  migration_id: number
  /** The ordinal of this list among those of its migration. */
  part: number
  /** A JSON list, in the order the caller named the repositories. */
  facts_ids: string
}

/** A repository of a migration that is exported by a job of its own; there is no row before that has begun. */
interface RepositoryExportsTable {
  migration_id: number
  position: number
  /** `exported`, `skipped` or `failed`, once it has come to an end. */
  outcome: string | null
  segment_key: string | null
  /** Why it was not exported. */
  reason: string | null
  /** What is told of it though it was exported. */
  warning: string | null
  started_at: number | null
  finished_at: number | null
  /** Its ordinal among the repositories of its migration, in the order they ended. */
  finished_order: number | null
  bytes_expected: number | null
  bytes_done: number
  reused: number
  /** Of what it was like when its export began, if it came that far. */
  fingerprint: string | null
}

/** What people said about one repository of a migration. */
export interface RecordExportsTable {
  migration_id: number
  position: number
  started_at: number
  /** How many issues and pull requests were read, and how many there are. */
  records_done: Generated<number>
  records_expected: Generated<number>
  /** The forge is not asked before, and why. */
  waiting_until: number | null
  waiting_for: string | null
  finished_at: number | null
  /** Of the rows that records are made of; not part of the archive. */
  rows_key: string | null
  /** Of the segments of their files, where there are any. */
  attachments_key: string | null
  assets_key: string | null
  /** All of it is at least as new as this. */
  as_of: number | null
  /** What the forge does not give, a JSON list of sentences. */
  notes: string | null
  reused: Generated<number>
}

/** Repositories of a migration that were found unchanged together. */
interface ReusedRepositoriesTable {
  migration_id: number
  /** The ordinal, in its migration, of the first of them to end. */
  first_order: number
  finished_at: number
  /** A JSON list of `[position, segment key, bytes, how long before finished_at it was begun]`, and a warning where there is one. */
  repositories: string
}

export interface SegmentsTable {
  /** That of the blob. */
  key: string
  /** Of what went in; null for the metadata of one migration, which nobody else can use. */
  fingerprint: string | null
  repository_id: number | null
  length: number
  plain_length: number
  crc32: number
  sha256: string
  /** What the manifest says of it. */
  contents: string | null
  /** What the next snapshot of the same repository need not prove again. */
  verified: string | null
  /** What is told of the repository though it is exported. */
  warning: string | null
  created_at: number
  /** When an export last took it into use, or an archive last let go of it. */
  named_at: number
  /** Of the stored bytes; null for what no archive contains. */
  stored_crc32: number | null
  /** When the stored bytes were last written or compared with the digest. */
  checked_at: number
  /** When they were found to be wrong, truncated or missing; null while they are intact. */
  damaged_at: number | null
}

/** How many stored blobs were compared with their digests, by result. */
interface StoreChecksTable {
  result: string
  count: number
  bytes: number
}

/** One row, which the database itself keeps in line with the segments. */
interface StoredSegmentsTable {
  count: number
  bytes: number
}

interface RepositoryLocksTable {
  migration_id: number
  repository_id: number
  locked_at: number
  expires_at: number
  /** Let go, but perhaps not yet undone at the source: the row goes when it is. */
  released_at: number | null
}

interface TalliesTable {
  name: string
  count: number
  bytes: number
}

interface LeasesTable {
  name: string
  /** The same holder may acquire it again before it expires. */
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
  /** When it began. */
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
  /** When it last gave a sign of life. */
  seen_at: number
  /** Where it writes what it exports; null where it does not export, or not onto a disk. */
  free_bytes: number | null
  /** What its snapshots take; null where it does not export. */
  scratch_bytes: number | null
}

interface SecretsTable {
  name: string
  value: string
}

interface DiscussionReadingsTable {
  /** Of which forge, and `owner/name` in lower case. */
  repository: string
  cursor: string
  kept_at: number
}

interface DiscussionGroupsTable {
  repository: string
  key: string
  /** The order in which they are written: the number of an issue, 0 for what belongs to no issue. */
  position: number
  version: string
  /** The rest of the group, as JSON. */
  content: string
}

interface ForgeBudgetsTable {
  forge: string
  /** When the period ends in which so many requests were taken. */
  ends_at: number
  taken: number
  /** The forge asked not to be asked before. */
  held_until: number
}

/** A migration that is started again and again. */
export interface SchedulesTable {
  id: Generated<number>
  /** Whose migrations they are: a person, or an organization. */
  owner_id: number
  /** The account that each run acts as. */
  maker_id: number
  /** A JSON list of full names. */
  repositories: string
  options: string
  /** `day` or `week`. */
  every: string
  /** Where it is every week. */
  weekday: string | null
  /** `03:30`, in its time zone. */
  at: string
  time_zone: string
  /** How many archives. */
  keep: number
  /** Moves on in the transaction that writes down the run. */
  next_run_at: number
  paused_at: number | null
  /** Why the service stopped it; null where somebody paused it. */
  paused_reason: string | null
  created_at: number
  updated_at: number
}

export interface ScheduleRunsTable {
  id: Generated<number>
  schedule_id: number
  /** Null where somebody asked for it. */
  due_at: number | null
  noted_at: number
  migration_id: number | null
  /** `started`, `skipped` or `failed`. */
  outcome: string
  /** Why no migration was started. */
  reason: string | null
  /** A JSON list of the repositories that the migration does without, with reasons. */
  skipped: string
}

/** What the forge said last of a repository. */
interface ForgeRepositoriesTable {
  /** `owner/name` in lower case. */
  name_key: string
  facts: string
  asked_at: number
}

/** When the forge said last what an account may do. */
interface ForgeRightsTable {
  account_id: number
  asked_at: number
  /** 'deleted' or 'suspended' if the forge says that of the account. */
  removal: Generated<string | null>
}

interface JobsTable {
  id: Generated<number>
  kind: string
  payload: string
  failures: number
  /** When it may be taken: while someone holds it, the moment their lease is over. */
  due_at: number
  created_at: number
  /** Who holds it; a new value with every claim. */
  lease: string | null
  /** Jobs of one batch can be called off together. */
  batch: string | null
  line: Generated<string>
}

export interface WebhooksTable {
  id: Generated<number>
  owner_id: number
  url: string
  content_type: string
  /** As it is: a signature cannot be made from a digest of it. */
  secret: string | null
  /** A JSON list. */
  events: string
  active: number
  created_at: number
  updated_at: number
  /** Since the first of those failures that no success came after. */
  failing_since: number | null
  /** Why Godwit made it inactive, where it did. */
  disabled_reason: string | null
  /** How the last one went: JSON. */
  last_delivery: string | null
}

/** What is to be told to one webhook. */
export interface WebhookEventsTable {
  id: Generated<number>
  guid: string
  webhook_id: number
  event: string
  action: string | null
  /** What it is about, as it was then; JSON. */
  facts: string
  /** The JSON that is sent, made at the first try and the same ever after. */
  payload: string | null
  /** `waiting`, `delivered` or `given up`. */
  state: string
  /** Moves on with every redelivery: the job of an earlier turn is nobody's any more. */
  turn: number
  tries: number
  /** How many more before it is given up. */
  tries_left: number
  /** Not before. */
  next_at: number
  created_at: number
  /** 1 while it waits for a place to be sent from, without a job. */
  parked: Generated<number>
}

/** One try. */
export interface WebhookDeliveriesTable {
  id: Generated<number>
  event_id: number
  webhook_id: number
  delivered_at: number
  redelivery: number
  duration_ms: number
  /** In words. */
  status: string
  /** Of the answer; 0 where none came. */
  status_code: number
  url: string
  /** JSON. */
  request_headers: string
  /** Its headers and the first bytes of its body, JSON. */
  response: string | null
}

interface WebhookTalliesTable {
  outcome: string
  count: number
}

export type Row<Table> = Selectable<Table>
