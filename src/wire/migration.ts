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
/** The states on routes that are not part of GitHub's API. They distinguish cancelled migrations from failed ones. */
export const shownStates = [...migrationStates, 'cancelled'] as const
const zonedTime = { ...dateTime, description: "Has the UTC offset of the server's time zone." }

export const migrationSchema = object(
  {
    id: integer,
    node_id: { ...string, description: 'An opaque identifier.' },
    owner: ref<User>('user'),
    guid: uuid,
    state: {
      ...enumOf(migrationStates),
      description:
        '`pending`, then `exporting`, then `exported` or `failed`; or directly from `pending` to `failed`. A migration never returns to an earlier state. A cancelled migration is `failed`.',
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
      { ...boolean, description: 'The value in the request that started the migration.' },
    ),
    repositories: {
      ...arrayOf(ref<ExtendedRepository>('extended-repository')),
      description: 'In the order of the request. Empty if the caller excluded them.',
    },
    url: uri,
    created_at: zonedTime,
    updated_at: zonedTime,
    archive_url: { ...uri, description: 'Present while the archive can be downloaded.' },
  },
  { description: 'An export of repositories to an archive.', optional: ['archive_url'] },
)

const startFlagDescriptions = {
  lock_repositories:
    'Lock the repositories: they refuse pushes until they are unlocked, the migration fails, or the lock expires.',
  exclude_metadata: 'Exclude the metadata of the repositories.',
  exclude_git_data: 'Exclude the git repositories and their wikis.',
  exclude_attachments: 'Exclude attachments.',
  exclude_releases: 'Exclude releases.',
  exclude_owner_projects:
    'Exclude projects of the owner. Has no effect: archives never contain projects.',
  org_metadata_only:
    'Export only the metadata of the organization or, in a migration of a user, of the organizations that the user administers. `repositories` is ignored.',
  allow_partial: `Skip repositories that cannot be exported, instead of failing the migration. ${EXTENSION}`,
}

export type StartFlag = keyof typeof startFlagDescriptions
export const startFlags = Object.keys(startFlagDescriptions) as StartFlag[]
export type StartFlags = Partial<Record<StartFlag, boolean>>

/** Returns the schema of each flag, with additional JSON schema keywords. */
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
        'Each is `owner/name`, or only the name if the repository belongs to the caller or the organization.',
    },
    exclude: {
      ...arrayOf(string),
      maxItems: MAX_LIST_LENGTH,
      description:
        '`repositories` omits the repositories from the response. Other values are ignored.',
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
  exported: { ...count, description: 'Number of exported repositories, including reused ones.' },
  reused: {
    ...count,
    description:
      'Number of repositories whose earlier export was reused, because they have not changed since.',
  },
})

export const summarySchema = object(
  {
    id: integer,
    guid: uuid,
    state: enumOf(shownStates),
    reason: {
      ...nullable(string),
      description:
        'Why the migration failed, with one line for each repository that could not be exported; or `cancelled`.',
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
            description:
              'True if stored data of the archive is damaged. Start a new migration. The report names the damaged repositories.',
          },
        }),
      ),
      description: 'Null if no archive can be downloaded.',
    },
    held_locks: {
      ...count,
      description: 'Number of repositories that the migration currently locks.',
    },
    names: { ...arrayOf(string), description: 'Names of the first three repositories.' },
  },
  { description: 'A migration and its result, without the list of its repositories.' },
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
    login: { ...string, description: 'The account whose migration locks the repository.' },
  },
  { description: 'A locked repository and the migration that locks it.' },
)

export const archiveLinkSchema = object(
  {
    url: {
      ...uri,
      description: 'Keep it secret: anyone who has this URL can download the archive.',
    },
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
