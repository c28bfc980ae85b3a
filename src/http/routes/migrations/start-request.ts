import { type MigrationOptions, ORDINARY } from '../../../migrations/migration.ts'
import type { StartRequest } from '../../../migrations/start-migration.ts'
import {
  type StartRequest as StartBody,
  type StartFlag,
  type StartFlags,
  startFlags,
} from '../../../wire/migration.ts'

const OPTION_OF_FLAG = {
  lock_repositories: 'lockRepositories',
  exclude_metadata: 'excludeMetadata',
  exclude_git_data: 'excludeGitData',
  exclude_attachments: 'excludeAttachments',
  exclude_releases: 'excludeReleases',
  exclude_owner_projects: 'excludeOwnerProjects',
  org_metadata_only: 'orgMetadataOnly',
  allow_partial: 'allowPartial',
} as const satisfies Record<StartFlag, keyof MigrationOptions>

/** Converts the body of a start request, which was validated by its schema. */
export function startRequestOf(body: StartBody): StartRequest {
  return { repositories: body.repositories, options: { ...ORDINARY, ...optionsOf(body) } }
}

/** Returns the options that the body sets. */
export function optionsOf(body: StartFlags): Partial<MigrationOptions> {
  const sent = startFlags.filter((flag) => body[flag] !== undefined)
  return Object.fromEntries(sent.map((flag) => [OPTION_OF_FLAG[flag], body[flag]]))
}

export function startFlagsOf(options: MigrationOptions): Required<StartFlags> {
  const flags = startFlags.map((flag) => [flag, options[OPTION_OF_FLAG[flag]]])
  return Object.fromEntries(flags) as Required<StartFlags>
}
