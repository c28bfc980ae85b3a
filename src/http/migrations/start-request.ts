import type { MigrationOptions } from '../../migrations/migration.ts'
import type { StartRequest } from '../../migrations/start-migration.ts'
import { flag, listOf, MAX_LISTED, text } from '../description/json-schema.ts'

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

const ABOUT_FLAG: Record<Flag, string> = {
  lock_repositories: 'Refuse pushes until unlocked, failed, or the time of the lock is over.',
  exclude_metadata: 'Leave out what is known of the repositories beside git.',
  exclude_git_data: 'Leave out the git repositories themselves, and their wikis.',
  exclude_attachments: 'Leave out attachments; a git host keeps none.',
  exclude_releases: 'Leave out releases; a git host keeps none.',
  exclude_owner_projects: 'Leave out projects of the owner; a git host keeps none.',
  org_metadata_only:
    'Carry what is known of the organizations that the caller administers, and no repository; `repositories` is then ignored.',
  allow_partial:
    'Skip repositories that cannot be exported, rather than fail. An extension of this server.',
}

/** Requests are checked against it, and the description of the API shows it. */
export const startBodySchema = {
  type: 'object',
  required: ['repositories'],
  properties: {
    repositories: {
      ...listOf(text),
      maxItems: MAX_LISTED,
      description: "`owner/name`, or the bare name of one of the caller's own.",
    },
    exclude: {
      ...listOf(text),
      maxItems: MAX_LISTED,
      description: '`repositories` leaves them out of the answer. Other values are ignored.',
    },
    ...Object.fromEntries(
      flags.map((name) => [name, { ...flag, default: false, description: ABOUT_FLAG[name] }]),
    ),
  },
  examples: [{ repositories: ['alice/atlas'], lock_repositories: true }],
}

export function startRequestOf(body: StartBody): StartRequest {
  const options = Object.fromEntries(
    flags.map((flag) => [OPTION_OF_FLAG[flag], body[flag] ?? false]),
  ) as Record<keyof MigrationOptions, boolean>
  return { repositories: body.repositories ?? [], options }
}
