import { type MigrationOptions, ORDINARY } from '../../migrations/migration.ts'
import type { StartRequest } from '../../migrations/start-migration.ts'
import type * as wire from '../../wire/types.ts'
import { EXTENSION, flag, listOf, MAX_LISTED, text } from '../description/json-schema.ts'

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

export type StartFlags = Partial<Record<Flag, boolean>>

const flags = Object.keys(OPTION_OF_FLAG) as Flag[]

const ABOUT_FLAG: Record<Flag, string> = {
  lock_repositories:
    'Lock the repositories: they refuse pushes until they are unlocked, the migration fails, or the lock expires.',
  exclude_metadata: 'Exclude metadata of the repositories.',
  exclude_git_data: 'Exclude the git repositories and their wikis.',
  exclude_attachments: 'Exclude attachments; a git host has none.',
  exclude_releases: 'Exclude releases; a git host has none.',
  exclude_owner_projects: 'Exclude projects of the owner; a git host has none.',
  org_metadata_only:
    'Export only metadata of the organization, or of those that the caller administers. `repositories` is ignored.',
  allow_partial: `Skip repositories that cannot be exported, instead of failing. ${EXTENSION}`,
}

const schemaOfFlag = (name: Flag) => ({ ...flag, description: ABOUT_FLAG[name] })

export const startFlagsWithoutDefaults = Object.fromEntries(
  flags.map((name) => [name, schemaOfFlag(name)]),
) as Record<Flag, ReturnType<typeof schemaOfFlag>>

export const startFlagSchemas = Object.fromEntries(
  flags.map((name) => [name, { ...flag, default: false, description: ABOUT_FLAG[name] }]),
)

/** Requests are checked against it, and the description of the API shows it. */
export const startBodySchema = {
  type: 'object',
  required: ['repositories'],
  properties: {
    repositories: {
      ...listOf(text),
      maxItems: MAX_LISTED,
      description:
        '`owner/name`, or the name of a repository of the caller, or of the organization.',
    },
    exclude: {
      ...listOf(text),
      maxItems: MAX_LISTED,
      description: '`repositories` excludes them from the answer. Other values are ignored.',
    },
    ...startFlagSchemas,
  },
  examples: [{ repositories: ['alice/atlas'], lock_repositories: true }],
}

/** What a start request says; its schema has checked it before. */
export function startRequestOf(body: wire.StartRequest): StartRequest {
  return { repositories: body.repositories, options: { ...ORDINARY, ...optionsOf(body) } }
}

/** Those that were said. */
export function optionsOf(body: StartFlags): Partial<MigrationOptions> {
  return Object.fromEntries(
    flags.flatMap((flag) => (body[flag] === undefined ? [] : [[OPTION_OF_FLAG[flag], body[flag]]])),
  )
}

/** The other way round: all of them. */
export function startFlagsOf(options: MigrationOptions): Required<StartFlags> {
  const said = flags.map((flag) => [flag, options[OPTION_OF_FLAG[flag]]])
  return Object.fromEntries(said) as Required<StartFlags>
}
