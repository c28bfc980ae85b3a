import { type LockWithMigration, repositoryCounts, shownStates } from './migration.ts'
import * as S from './schema.ts'

/** The URLs of GitHub's API, relative to its base URL. */
export const ROOT_PATHS = {
  current_user_url: '/user',
  current_user_authorizations_html_url: '/settings/connections/applications{/client_id}',
  authorizations_url: '/authorizations',
  code_search_url: '/search/code?q={query}{&page,per_page,sort,order}',
  commit_search_url: '/search/commits?q={query}{&page,per_page,sort,order}',
  emails_url: '/user/emails',
  emojis_url: '/emojis',
  events_url: '/events',
  feeds_url: '/feeds',
  followers_url: '/user/followers',
  following_url: '/user/following{/target}',
  gists_url: '/gists{/gist_id}',
  issue_search_url: '/search/issues?q={query}{&page,per_page,sort,order}',
  issues_url: '/issues',
  keys_url: '/user/keys',
  label_search_url: '/search/labels?q={query}&repository_id={repository_id}{&page,per_page}',
  notifications_url: '/notifications',
  organization_url: '/orgs/{org}',
  organization_repositories_url: '/orgs/{org}/repos{?type,page,per_page,sort}',
  organization_teams_url: '/orgs/{org}/teams',
  public_gists_url: '/gists/public',
  rate_limit_url: '/rate_limit',
  repository_url: '/repos/{owner}/{repo}',
  repository_search_url: '/search/repositories?q={query}{&page,per_page,sort,order}',
  current_user_repositories_url: '/user/repos{?q,type,page,per_page,sort}',
  starred_url: '/user/starred{/owner}{/repo}',
  starred_gists_url: '/gists/starred',
  topic_search_url: '/search/topics?q={query}{&page,per_page}',
  user_url: '/users/{user}',
  user_organizations_url: '/user/orgs',
  user_repositories_url: '/users/{user}/repos{?type,page,per_page,sort}',
  user_search_url: '/search/users?q={query}{&page,per_page,sort,order}',
}

const rootUrls = Object.fromEntries(
  Object.entries(ROOT_PATHS).map(([name, path]) => [
    name,
    path.includes('{') ? S.uriTemplate : S.uri,
  ]),
) as Record<keyof typeof ROOT_PATHS, typeof S.uri>

export const rootSchema = S.described(
  "The URLs of GitHub's API. This server does not serve all of them.",
  {
    ...rootUrls,
    ...S.each(['user_migrations_url', 'user_migration_url'], S.uriTemplate.describe(S.EXTENSION)),
    documentation_url: S.uri.describe(S.EXTENSION),
    repository_ssh_url: S.stringOrNull.describe(
      `Address to clone a repository from over SSH, with \`{owner}\` and \`{name}\`; null if the operator has set none. ${S.EXTENSION}`,
    ),
    media_type: S.string.describe(`Media type of the preview, for \`accept\`. ${S.EXTENSION}`),
    sign_in: S.nullable(
      S.object({
        name: S.string.describe('Name of the provider.'),
        url: S.uri.describe('Begins the sign-in. `return_to` is the path to return to.'),
        sign_out_url: S.nullable(S.uri).describe('Signs out of the provider.'),
      }),
    ).describe(`How a browser signs in without a token; null if it cannot. ${S.EXTENSION}`),
  },
)

const migration = {
  id: S.integer,
  guid: S.uuid,
  login: S.string,
  owner_type: S.enumOf(['User', 'Organization']).describe('The type of the account `login`.'),
}

const running = S.object({
  ...migration,
  state: S.enumOf(shownStates),
  created_at: S.dateTime,
  started_at: S.dateTimeOrNull,
  repositories: repositoryCounts,
  bytes_done: S.count,
})

const queue = S.object({
  jobs: S.count,
  oldest_at: S.dateTimeOrNull.describe('Null if nothing is waiting.'),
  kinds: S.arrayOf(S.object({ kind: S.string, jobs: S.count, oldest_at: S.dateTime })),
})

const bucket = S.object({
  start: S.dateTime,
  repositories: S.count.describe('Exported repositories, including reused ones.'),
  ...S.each(['reused', 'skipped', 'failed'], S.count),
  ...S.each(['migrations_exported', 'migrations_failed', 'migrations_cancelled'], S.count),
  bytes: S.count.describe('Bytes written, without reused repositories.'),
  bytes_reused: S.count,
})

const throughput = S.object({
  period: S.enumOf(['hour', 'day', 'week']),
  bucket_seconds: S.count,
  buckets: S.arrayOf(bucket).describe('Oldest first; the last one is not complete yet.'),
})

const storage = S.object({
  used_bytes: S.count.describe('Total of archives, data kept for reuse, and scratch.'),
  archive_bytes: S.count.describe(
    'Used by archives and running exports. Data that several archives share counts once.',
  ),
  reuse_bytes: S.count.describe('Kept only for reuse by later exports.'),
  scratch_bytes: S.count.describe('Used by snapshots of running exports.'),
  ...S.each(['segments', 'archives'], S.count),
  free_bytes: S.countOrNull.describe('Null if a bucket is used, or if unknown.'),
})

const locks = S.object({
  held: S.count,
  newest: S.arrayOf(S.ref<LockWithMigration>('lock-with-migration')).describe('The newest locks.'),
})

const failure = S.object({
  ...migration,
  state: S.enumOf(['exported', 'failed']).describe(
    '`exported` if only some of its repositories could not be exported.',
  ),
  ended_at: S.dateTimeOrNull,
  reason: S.stringOrNull,
  counts: repositoryCounts,
  repositories: S.arrayOf(S.object({ full_name: S.string, reason: S.string })).describe(
    'The first repositories that could not be exported.',
  ),
})

const archive = S.object({ ...migration, bytes: S.count, expires_at: S.dateTimeOrNull })

const checks = S.described(
  'The results of the last `godwit check` of each repository, and of exports since that failed.',
  {
    ...S.each(['passed', 'failed'], S.count),
    newest_at: S.dateTimeOrNull.describe('Null if no repository has been checked.'),
    problems: S.arrayOf(
      S.object({ full_name: S.string, checked_at: S.dateTime, reason: S.string }),
    ).describe('The newest failures.'),
  },
)

const worker = S.object({
  id: S.uuid,
  ...S.each(['host', 'version'], S.string),
  pid: S.integer,
  role: S.enumOf(['all', 'api', 'worker']),
  concurrency: S.count.describe('Maximum number of jobs at the same time.'),
  running_jobs: S.count,
  started_at: S.dateTime,
  seen_at: S.dateTime.describe('Time of its last heartbeat; workers send one every ten seconds.'),
  alive: S.boolean,
})

export const serviceStateSchema = S.described('The state of the whole service.', {
  observed_at: S.dateTime,
  version: S.string.describe('Version of the process that sent the response.'),
  migrations: S.object(S.each(shownStates, S.count), {
    description: 'Number of migrations in each state.',
  }),
  running: S.arrayOf(running).describe('The oldest unfinished migrations.'),
  queue,
  throughput,
  storage,
  locks,
  failures: S.arrayOf(failure).describe(
    'The newest migrations that failed or skipped repositories.',
  ),
  workers: S.arrayOf(worker),
  archives: S.arrayOf(archive).describe('The largest archives.'),
  checks,
})

export const syncRequestSchema = S.request(
  {
    repositories: S.arrayOf(
      S.string.refusing({ pattern: '^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$' }),
    ).describe('Each is `owner/name`.', {
      minItems: 1,
      maxItems: S.MAX_LIST_LENGTH,
    }),
  },
  { required: ['repositories'], examples: [{ repositories: ['alice/atlas'] }] },
)

export const syncReportSchema = S.described('What a sync found.', {
  repositories: S.count.describe('Number of repositories that exist.'),
  changed: S.count.describe('Number of new or changed repositories.'),
  removed: S.count.describe('Number of repositories that no longer exist.'),
  failed: S.arrayOf(S.object({ full_name: S.string, reason: S.string })).describe(
    'The repositories that cannot be read.',
  ),
})

export type SyncRequest = S.Static<typeof syncRequestSchema>
export type SyncReport = S.Static<typeof syncReportSchema>
export type Root = S.Static<typeof rootSchema>
export type ServiceState = S.Static<typeof serviceStateSchema>

export const auditEntrySchema = S.described('An entry of the audit log.', {
  id: S.integer,
  at: S.dateTime,
  actor: S.string.describe(
    'The login of the account that acted. `command line`, `the service` and `not signed in` are not accounts.',
  ),
  token: S.stringOrNull.describe('The name of the token or session that the account used.'),
  address: S.stringOrNull,
  action: S.string,
  subject: S.stringOrNull.describe('Such as `migration 7`.'),
  outcome: S.enumOf(['done', 'refused']),
  details: S.mapOf<S.Schema>({}).describe(
    'More about the action. Its fields depend on the action.',
  ),
})

export type AuditEntry = S.Static<typeof auditEntrySchema>
