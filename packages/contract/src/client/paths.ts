/**
 * The paths of the API, with `{parameters}` as Octokit takes them, for the caller's own resources or for those of an
 * organization. The command line and the dashboard both use them, so this module imports nothing.
 */
export function pathsOf(org: string | undefined) {
  const migrations = org === undefined ? '/user/migrations' : `/orgs/${org}/migrations`
  const webhooks = org === undefined ? '/user/hooks' : `/orgs/${org}/hooks`
  return {
    repositories: org === undefined ? '/user/repos' : `/orgs/${org}/repos`,
    migrations,
    migration: `${migrations}/{migration_id}`,
    schedules: `${migrations}/schedules`,
    schedule: `${migrations}/schedules/{schedule_id}`,
    webhooks,
    webhook: `${webhooks}/{hook_id}`,
    delivery: `${webhooks}/{hook_id}/deliveries/{delivery_id}`,
  }
}

export type ApiPaths = ReturnType<typeof pathsOf>

/** Paths for site admins, about the resources of every account. */
export const ADMIN_PATHS = {
  service: '/admin/service',
  migration: '/admin/migrations/{migration_id}',
  lock: '/admin/locks/{owner}/{name}',
  audit: '/admin/audit',
  tokens: '/admin/tokens',
  token: '/admin/tokens/{token_id}',
} as const
