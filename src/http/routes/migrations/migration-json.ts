import type { components } from '@octokit/openapi-types'
import type { Account } from '../../../accounts/account.ts'
import type { Migration } from '../../../migrations/migration.ts'
import type { Addresses } from '../../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../../repositories/facts.ts'
import type * as wire from '../../../wire/types.ts'
import { nodeId } from '../../middleware/node-id.ts'
import type { Rendering } from '../../rendering.ts'
import { extendedRepositoryJson } from '../repositories/repository-json.ts'
import { userJson } from '../users/user-json.ts'

/** Where an account's migrations are. */
export const migrationsAddress = ({ type, login }: Account, { api }: Addresses): string =>
  type === 'Organization' ? `${api}/orgs/${login}/migrations` : `${api}/user/migrations`

export function migrationJson(
  migration: Migration,
  repositories: readonly RepositoryFacts[],
  { addresses, migrationTime }: Rendering,
) {
  const { options } = migration
  const url = `${migrationsAddress(migration.owner, addresses)}/${migration.id}`
  return {
    id: migration.id,
    node_id: nodeId('Migration', migration.id),
    owner: userJson(migration.owner, addresses),
    guid: migration.guid,
    state: migration.state,
    lock_repositories: options.lockRepositories,
    exclude_metadata: options.excludeMetadata,
    exclude_git_data: options.excludeGitData,
    exclude_attachments: options.excludeAttachments,
    exclude_releases: options.excludeReleases,
    exclude_owner_projects: options.excludeOwnerProjects,
    org_metadata_only: options.orgMetadataOnly,
    repositories: repositories.map((facts) => extendedRepositoryJson(facts, addresses)),
    url,
    created_at: migrationTime(migration.createdAt),
    updated_at: migrationTime(migration.updatedAt),
    ...(migration.archiveExpiresAt !== null && { archive_url: `${url}/archive` }),
  } satisfies components['schemas']['migration'] & wire.Migration
}
