import type { ExtendedRepository } from './repository.ts'
import {
  arrayOf,
  boolean,
  count,
  dateTime,
  EXTENSION,
  each,
  enumOf,
  integer,
  MAX_LIST_LENGTH,
  nullable,
  object,
  ref,
  request,
  type Static,
  string,
  uri,
  uuid,
} from './schema.ts'
import type { User } from './user.ts'

export const migrationStates = ['pending', 'exporting', 'exported', 'failed'] as const
/** States on the routes that only this server has: they distinguish cancelled migrations from failed ones. */
export const shownStates = [...migrationStates, 'cancelled'] as const
const zonedTime = { ...dateTime, description: "With the offset of the server's time zone." }

export const migrationSchema = object(
  {
    id: integer,
    node_id: { ...string, description: 'Opaque.' },
    owner: ref<User>('user'),
    guid: uuid,
    state: {
      ...enumOf(migrationStates),
      description:
        '`pending`, then `exporting`, then `exported` or `failed`; or from `pending` directly to `failed`. It never goes back. A cancelled migration is `failed`.',
    },
    ...each(
      [
        'lock_repositories',
        'exclude_metadata',
        'exclude_git_data',
        'exclude_attachments',
        'exclude_releases',
        'exclude_owner_projects',
        'org_metadata_only',
      ],
      { ...boolean, description: 'As requested at the start.' },
    ),
    repositories: {
      ...arrayOf(ref<ExtendedRepository>('extended-repository')),
      description: 'In the requested order; empty if the caller excluded them.',
    },
    url: uri,
    created_at: zonedTime,
    updated_at: zonedTime,
    archive_url: { ...uri, description: 'Present while there is an archive to download.' },
  },
  { description: 'A migration of repositories.', optional: ['archive_url'] },
)

const startFlagDescriptions = {
  lock_repositories:
    'Lock the repositories: they refuse pushes until they are unlocked, the migration fails, or the lock expires.',
  exclude_metadata: 'Exclude metadata of the repositories.',
  exclude_git_data: 'Exclude the git repositories and their wikis.',
  exclude_attachments: 'Exclude attachments.',
  exclude_releases: 'Exclude releases.',
  exclude_owner_projects: 'Exclude projects of the owner. Archives never contain any.',
  org_metadata_only:
    'Export only metadata of the organization, or of those that the caller administers. `repositories` is ignored.',
  allow_partial: `Skip repositories that cannot be exported, instead of failing. ${EXTENSION}`,
}

export type StartFlag = keyof typeof startFlagDescriptions
export const startFlags = Object.keys(startFlagDescriptions) as StartFlag[]
export type StartFlags = Partial<Record<StartFlag, boolean>>

const flagSchemas = (keywords: object) =>
  Object.fromEntries(
    startFlags.map((name) => [
      name,
      { ...boolean, ...keywords, description: startFlagDescriptions[name] },
    ]),
  ) as unknown as Record<StartFlag, typeof boolean>

export const startFlagsWithoutDefaults = flagSchemas({})
export const startFlagSchemas = flagSchemas({ default: false })

export const startRequestSchema = request(
  {
    repositories: {
      ...arrayOf(string),
      maxItems: MAX_LIST_LENGTH,
      description:
        '`owner/name`, or the name of a repository of the caller, or of the organization.',
    },
    exclude: {
      ...arrayOf(string),
      maxItems: MAX_LIST_LENGTH,
      description: '`repositories` excludes them from the answer. Other values are ignored.',
    },
    ...startFlagSchemas,
  },
  {
    required: ['repositories'],
    examples: [{ repositories: ['alice/atlas'], lock_repositories: true }],
  },
)

export const repositoryCountsSchema = object({
  ...each(['total', 'skipped', 'failed', 'remaining'], count),
  exported: { ...count, description: 'Including reused repositories.' },
  reused: { ...count, description: 'Exported before and unchanged since then.' },
})

export const summarySchema = object(
  {
    id: integer,
    guid: uuid,
    state: enumOf(shownStates),
    reason: {
      ...nullable(string),
      description:
        'Why it failed: one line for each repository that could not be exported; or `cancelled`.',
    },
    ...each(['lock_repositories', 'exclude_metadata', 'exclude_git_data'], boolean),
    ...each(['org_metadata_only', 'allow_partial'], boolean),
    created_at: dateTime,
    ...each(['started_at', 'ended_at'], nullable(dateTime)),
    repositories: repositoryCountsSchema,
    bytes_done: { ...count, description: 'Total size of the exported repositories.' },
    archive: {
      ...nullable(
        object({
          bytes: count,
          expires_at: dateTime,
          damaged: {
            ...boolean,
            description: 'Stored data is damaged: start a new migration. The report names it.',
          },
        }),
      ),
      description: 'Null if there is no archive to download.',
    },
    held_locks: { ...count, description: 'Number of repositories that it locks.' },
    names: { ...arrayOf(string), description: 'Names of the first three repositories.' },
  },
  { description: 'A migration and its result, without its repositories.' },
)

export const lockSchema = object(
  {
    full_name: string,
    locked_at: dateTime,
    expires_at: { ...dateTime, description: 'When the lock expires.' },
  },
  { description: 'A locked repository.' },
)

export const heldLockSchema = object(
  {
    ...lockSchema.properties,
    migration_id: integer,
    login: { ...string, description: 'The account whose migration locks it.' },
  },
  { description: 'A locked repository, and the migration that locks it.' },
)

export const archiveLinkSchema = object(
  {
    url: { ...uri, description: 'A credential: anyone who has it can download the archive.' },
    name: { ...string, description: 'File name of the archive.' },
    bytes: { ...count, description: 'Size of the archive.' },
    expires_at: { ...dateTime, description: 'When the link expires.' },
  },
  { description: 'A link to download an archive.' },
)

export type Migration = Static<typeof migrationSchema>
export type StartRequest = Static<typeof startRequestSchema>
export type Summary = Static<typeof summarySchema>
export type Lock = Static<typeof lockSchema>
export type HeldLock = Static<typeof heldLockSchema>
export type ArchiveLink = Static<typeof archiveLinkSchema>
