import type { MigrationOptions } from '../migrations/migration.ts'
import type { StartRequest } from '../migrations/start-migration.ts'

/** The body of a start request on the wire. Its schema below has checked it before a handler sees it. */
export interface StartBody extends Partial<Record<Flag, boolean>> {
  repositories?: string[]
  exclude?: string[]
}

type Flag = keyof typeof OPTION_OF_FLAG

const OPTION_OF_FLAG = {
  lock_repositories: 'lockRepositories',
  exclude_metadata: 'excludeMetadata',
  exclude_git_data: 'excludeGitData',
  exclude_attachments: 'excludeAttachments',
  exclude_releases: 'excludeReleases',
  exclude_owner_projects: 'excludeOwnerProjects',
  org_metadata_only: 'orgMetadataOnly',
  allow_partial: 'allowPartial',
} as const satisfies Record<string, keyof MigrationOptions>

const flags = Object.keys(OPTION_OF_FLAG) as Flag[]
const listOfStrings = { type: 'array', items: { type: 'string' } }

export const startBodySchema = {
  type: 'object',
  required: ['repositories'],
  properties: {
    repositories: listOfStrings,
    exclude: listOfStrings,
    ...Object.fromEntries(flags.map((flag) => [flag, { type: 'boolean' }])),
  },
}

export function startRequestOf(body: StartBody): StartRequest {
  const options = Object.fromEntries(
    flags.map((flag) => [OPTION_OF_FLAG[flag], body[flag] ?? false]),
  ) as Record<keyof MigrationOptions, boolean>
  return { repositories: body.repositories ?? [], options }
}
