import { type HeldLock, repositoryCountsSchema, shownStates } from './migration.ts'
import {
  arrayOf,
  boolean,
  count,
  dateTime,
  EXTENSION,
  each,
  enumOf,
  integer,
  nullable,
  object,
  ref,
  type Static,
  string,
  uri,
  uriTemplate,
  uuid,
} from './schema.ts'

export const rootSchema = object(
  {
    ...each(
      [
        'current_user_url',
        'authorizations_url',
        'emails_url',
        'emojis_url',
        'events_url',
        'feeds_url',
        'followers_url',
        'issues_url',
        'keys_url',
        'notifications_url',
        'public_gists_url',
        'rate_limit_url',
        'starred_gists_url',
        'user_organizations_url',
      ],
      uri,
    ),
    ...each(
      [
        'current_user_authorizations_html_url',
        'code_search_url',
        'commit_search_url',
        'following_url',
        'gists_url',
        'issue_search_url',
        'label_search_url',
        'organization_url',
        'organization_repositories_url',
        'organization_teams_url',
        'repository_url',
        'repository_search_url',
        'current_user_repositories_url',
        'starred_url',
        'topic_search_url',
        'user_url',
        'user_repositories_url',
        'user_search_url',
      ],
      uriTemplate,
    ),
    ...each(['user_migrations_url', 'user_migration_url'], {
      ...uriTemplate,
      description: EXTENSION,
    }),
    documentation_url: { ...uri, description: EXTENSION },
    media_type: {
      ...string,
      description: `Media type of the preview, for \`accept\`. ${EXTENSION}`,
    },
  },
  { description: "The URLs of GitHub's API. This server does not serve all of them." },
)

const migration = { id: integer, guid: uuid, login: string }

const running = object({
  ...migration,
  state: enumOf(shownStates),
  created_at: dateTime,
  started_at: nullable(dateTime),
  repositories: repositoryCountsSchema,
  bytes_done: count,
})

const queue = object({
  jobs: count,
  oldest_at: { ...nullable(dateTime), description: 'Null if nothing is waiting.' },
  kinds: arrayOf(object({ kind: string, jobs: count, oldest_at: dateTime })),
})

const bucket = object({
  start: dateTime,
  repositories: { ...count, description: 'Exported repositories, including reused ones.' },
  ...each(['reused', 'skipped', 'failed'], count),
  ...each(['migrations_exported', 'migrations_failed', 'migrations_cancelled'], count),
  bytes: { ...count, description: 'Bytes written, without reused repositories.' },
  bytes_reused: count,
})

const throughput = object({
  period: enumOf(['hour', 'day', 'week']),
  bucket_seconds: count,
  buckets: { ...arrayOf(bucket), description: 'Oldest first; the last one is not complete yet.' },
})

const storage = object({
  used_bytes: { ...count, description: 'Total of archives, data kept for reuse, and scratch.' },
  archive_bytes: {
    ...count,
    description:
      'Used by archives and running exports. Data that several archives share counts once.',
  },
  reuse_bytes: { ...count, description: 'Kept only for reuse by later exports.' },
  scratch_bytes: { ...count, description: 'Used by snapshots of running exports.' },
  ...each(['segments', 'archives'], count),
  free_bytes: { ...nullable(count), description: 'Null if a bucket is used, or if unknown.' },
})

const locks = object({
  held: count,
  newest: { ...arrayOf(ref<HeldLock>('held-lock')), description: 'The newest locks.' },
})

const failure = object({
  ...migration,
  state: {
    ...enumOf(['exported', 'failed']),
    description: '`exported` if only some of its repositories could not be exported.',
  },
  ended_at: nullable(dateTime),
  reason: nullable(string),
  counts: repositoryCountsSchema,
  repositories: {
    ...arrayOf(object({ full_name: string, reason: string })),
    description: 'The first repositories that could not be exported.',
  },
})

const archive = object({ ...migration, bytes: count, expires_at: nullable(dateTime) })

const checks = object(
  {
    ...each(['passed', 'failed'], count),
    newest_at: { ...nullable(dateTime), description: 'Null if no repository has been checked.' },
    problems: {
      ...arrayOf(object({ full_name: string, checked_at: dateTime, reason: string })),
      description: 'The newest failures.',
    },
  },
  { description: 'The results of the last `godwit check` of each repository.' },
)

export const tokenSchema = object(
  {
    id: integer,
    ...each(['login', 'name'], string),
    created_at: dateTime,
    ...each(['expires_at', 'last_used_at', 'revoked_at'], nullable(dateTime)),
  },
  { description: 'An access token, without the secret.' },
)

const worker = object({
  id: uuid,
  ...each(['host', 'version'], string),
  pid: integer,
  role: enumOf(['all', 'api', 'worker']),
  concurrency: { ...count, description: 'Maximum number of jobs at the same time.' },
  running_jobs: count,
  started_at: dateTime,
  seen_at: {
    ...dateTime,
    description: 'Time of its last heartbeat; workers send one every ten seconds.',
  },
  alive: boolean,
})

export const serviceStateSchema = object(
  {
    observed_at: dateTime,
    version: { ...string, description: 'Version of the process that sent the response.' },
    migrations: object(each(shownStates, count), {
      description: 'Number of migrations in each state.',
    }),
    running: { ...arrayOf(running), description: 'The oldest unfinished migrations.' },
    queue,
    throughput,
    storage,
    locks,
    failures: {
      ...arrayOf(failure),
      description: 'The newest migrations that failed or skipped repositories.',
    },
    workers: arrayOf(worker),
    archives: { ...arrayOf(archive), description: 'The largest archives.' },
    checks,
  },
  { description: 'The state of the whole service.' },
)

export type Root = Static<typeof rootSchema>
export type Token = Static<typeof tokenSchema>
export type ServiceState = Static<typeof serviceStateSchema>
