import { type LockWithMigration, repositoryCounts, shownStates } from './migration.ts'
import * as s from './schema.ts'

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
    path.includes('{') ? s.uriTemplate : s.uri,
  ]),
) as Record<keyof typeof ROOT_PATHS, typeof s.uri>

export const rootSchema = s.described(
  "The URLs of GitHub's API. This server does not serve all of them.",
  {
    ...rootUrls,
    ...s.each(['user_migrations_url', 'user_migration_url'], s.uriTemplate.describe(s.EXTENSION)),
    documentation_url: s.uri.describe(s.EXTENSION),
    repository_ssh_url: s.stringOrNull.describe(
      `Address to clone a repository from over SSH, with \`{owner}\` and \`{name}\`; null if the operator has set none. ${s.EXTENSION}`,
    ),
    media_type: s.string.describe(`Media type of the preview, for \`accept\`. ${s.EXTENSION}`),
    sign_in: s
      .nullable(
        s.object({
          name: s.string.describe('Name of the provider.'),
          url: s.uri.describe('Begins the sign-in. `return_to` is the path to return to.'),
          sign_out_url: s.nullable(s.uri).describe('Signs out of the provider.'),
        }),
      )
      .describe(`How a browser signs in without a token; null if it cannot. ${s.EXTENSION}`),
  },
)

const migration = { id: s.integer, guid: s.uuid, login: s.string }

const running = s.object({
  ...migration,
  state: s.enumOf(shownStates),
  created_at: s.dateTime,
  started_at: s.dateTimeOrNull,
  repositories: repositoryCounts,
  bytes_done: s.count,
})

const queue = s.object({
  jobs: s.count,
  oldest_at: s.dateTimeOrNull.describe('Null if nothing is waiting.'),
  kinds: s.arrayOf(s.object({ kind: s.string, jobs: s.count, oldest_at: s.dateTime })),
})

const bucket = s.object({
  start: s.dateTime,
  repositories: s.count.describe('Exported repositories, including reused ones.'),
  ...s.each(['reused', 'skipped', 'failed'], s.count),
  ...s.each(['migrations_exported', 'migrations_failed', 'migrations_cancelled'], s.count),
  bytes: s.count.describe('Bytes written, without reused repositories.'),
  bytes_reused: s.count,
})

const throughput = s.object({
  period: s.enumOf(['hour', 'day', 'week']),
  bucket_seconds: s.count,
  buckets: s.arrayOf(bucket).describe('Oldest first; the last one is not complete yet.'),
})

const storage = s.object({
  used_bytes: s.count.describe('Total of archives, data kept for reuse, and scratch.'),
  archive_bytes: s.count.describe(
    'Used by archives and running exports. Data that several archives share counts once.',
  ),
  reuse_bytes: s.count.describe('Kept only for reuse by later exports.'),
  scratch_bytes: s.count.describe('Used by snapshots of running exports.'),
  ...s.each(['segments', 'archives'], s.count),
  free_bytes: s.countOrNull.describe('Null if a bucket is used, or if unknown.'),
})

const locks = s.object({
  held: s.count,
  newest: s.arrayOf(s.ref<LockWithMigration>('lock-with-migration')).describe('The newest locks.'),
})

const failure = s.object({
  ...migration,
  state: s
    .enumOf(['exported', 'failed'])
    .describe('`exported` if only some of its repositories could not be exported.'),
  ended_at: s.dateTimeOrNull,
  reason: s.stringOrNull,
  counts: repositoryCounts,
  repositories: s
    .arrayOf(s.object({ full_name: s.string, reason: s.string }))
    .describe('The first repositories that could not be exported.'),
})

const archive = s.object({ ...migration, bytes: s.count, expires_at: s.dateTimeOrNull })

const checks = s.described(
  'The results of the last `godwit check` of each repository, and of exports since that failed.',
  {
    ...s.each(['passed', 'failed'], s.count),
    newest_at: s.dateTimeOrNull.describe('Null if no repository has been checked.'),
    problems: s
      .arrayOf(s.object({ full_name: s.string, checked_at: s.dateTime, reason: s.string }))
      .describe('The newest failures.'),
  },
)

const worker = s.object({
  id: s.uuid,
  ...s.each(['host', 'version'], s.string),
  pid: s.integer,
  role: s.enumOf(['all', 'api', 'worker']),
  concurrency: s.count.describe('Maximum number of jobs at the same time.'),
  running_jobs: s.count,
  started_at: s.dateTime,
  seen_at: s.dateTime.describe('Time of its last heartbeat; workers send one every ten seconds.'),
  alive: s.boolean,
})

export const serviceStateSchema = s.described('The state of the whole service.', {
  observed_at: s.dateTime,
  version: s.string.describe('Version of the process that sent the response.'),
  migrations: s.object(s.each(shownStates, s.count), {
    description: 'Number of migrations in each state.',
  }),
  running: s.arrayOf(running).describe('The oldest unfinished migrations.'),
  queue,
  throughput,
  storage,
  locks,
  failures: s
    .arrayOf(failure)
    .describe('The newest migrations that failed or skipped repositories.'),
  workers: s.arrayOf(worker),
  archives: s.arrayOf(archive).describe('The largest archives.'),
  checks,
})

export const syncRequestSchema = s.request(
  {
    repositories: s
      .arrayOf(s.string)
      .describe('Each is `owner/name`.', { minItems: 1, maxItems: s.MAX_LIST_LENGTH }),
  },
  { required: ['repositories'], examples: [{ repositories: ['alice/atlas'] }] },
)

export const syncReportSchema = s.described('What a sync found.', {
  repositories: s.count.describe('Number of repositories that exist.'),
  changed: s.count.describe('Number of new or changed repositories.'),
  removed: s.count.describe('Number of repositories that no longer exist.'),
  failed: s
    .arrayOf(s.object({ full_name: s.string, reason: s.string }))
    .describe('The repositories that cannot be read.'),
})

export type SyncRequest = s.Static<typeof syncRequestSchema>
export type SyncReport = s.Static<typeof syncReportSchema>
export type Root = s.Static<typeof rootSchema>
export type ServiceState = s.Static<typeof serviceStateSchema>
