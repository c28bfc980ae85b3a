import type { ExtendedRepository } from './repository.ts'
import * as s from './schema.ts'
import type { User } from './user.ts'

export const migrationStates = ['pending', 'exporting', 'exported', 'failed'] as const
/** The states on routes that are not part of GitHub's API. They distinguish cancelled migrations from failed ones. */
export const shownStates = [...migrationStates, 'cancelled'] as const
const zonedTime = { ...s.dateTime, description: "Has the UTC offset of the server's time zone." }

export const migrationSchema = s.object(
  {
    id: s.integer,
    node_id: { ...s.string, description: 'An opaque identifier.' },
    owner: s.ref<User>('user'),
    guid: s.uuid,
    state: {
      ...s.enumOf(migrationStates),
      description:
        '`pending`, then `exporting`, then `exported` or `failed`; or directly from `pending` to `failed`. A migration never returns to an earlier state. A cancelled migration is `failed`.',
    },
    ...s.each(
      [
        'lock_repositories',
        'exclude_metadata',
        'exclude_git_data',
        'exclude_attachments',
        'exclude_releases',
        'exclude_owner_projects',
        'org_metadata_only',
      ],
      { ...s.boolean, description: 'The value in the request that started the migration.' },
    ),
    repositories: {
      ...s.arrayOf(s.ref<ExtendedRepository>('extended-repository')),
      description: 'In the order of the request. Empty if the caller excluded them.',
    },
    url: s.uri,
    created_at: zonedTime,
    updated_at: zonedTime,
    archive_url: { ...s.uri, description: 'Present while the archive can be downloaded.' },
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
  allow_partial: `Skip repositories that cannot be exported, instead of failing the migration. ${s.EXTENSION}`,
}

export type StartFlag = keyof typeof startFlagDescriptions
export const startFlags = Object.keys(startFlagDescriptions) as StartFlag[]
export type StartFlags = Partial<Record<StartFlag, boolean>>

/** Returns the schema of each flag, with additional JSON schema keywords. */
const flagSchemas = (keywords: object) =>
  Object.fromEntries(
    startFlags.map((name) => [
      name,
      { ...s.boolean, ...keywords, description: startFlagDescriptions[name] },
    ]),
  ) as unknown as Record<StartFlag, typeof s.boolean>

export const startFlagsWithoutDefaults = flagSchemas({})
export const startFlagSchemas = flagSchemas({ default: false })

/** No control characters, no line separators, and nothing that changes the direction of text. */
const PRINTABLE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$'

export const nameSchema = {
  ...s.nullable(s.string),
  maxLength: 100,
  pattern: PRINTABLE,
  description: `A name for the migration, without control characters, shown in lists and in the file name of the archive. Spaces around it are removed. ${s.EXTENSION}`,
}

export const startRequestSchema = s.request(
  {
    repositories: {
      ...s.arrayOf(s.string),
      maxItems: s.MAX_LIST_LENGTH,
      description:
        'Each is `owner/name`, or only the name if the repository belongs to the caller or the organization.',
    },
    exclude: {
      ...s.arrayOf(s.string),
      maxItems: s.MAX_LIST_LENGTH,
      description:
        '`repositories` omits the repositories from the response. Other values are ignored.',
    },
    name: nameSchema,
    ...startFlagSchemas,
  },
  {
    required: ['repositories'],
    examples: [{ repositories: ['alice/atlas'], lock_repositories: true }],
  },
)

export const repositoryCountsSchema = s.object({
  ...s.each(['total', 'skipped', 'failed', 'remaining'], s.count),
  exported: { ...s.count, description: 'Number of exported repositories, including reused ones.' },
  reused: {
    ...s.count,
    description:
      'Number of repositories whose earlier export was reused, because they have not changed since.',
  },
})

export const summarySchema = s.object(
  {
    id: s.integer,
    guid: s.uuid,
    name: { ...s.nullable(s.string), description: 'The name that the account gave it, or null.' },
    state: s.enumOf(shownStates),
    reason: {
      ...s.nullable(s.string),
      description:
        'Why the migration failed, with one line for each repository that could not be exported; or `cancelled`.',
    },
    ...s.each(['lock_repositories', 'exclude_metadata', 'exclude_git_data'], s.boolean),
    ...s.each(['org_metadata_only', 'allow_partial'], s.boolean),
    created_at: s.dateTime,
    ...s.each(['started_at', 'ended_at'], s.nullable(s.dateTime)),
    repositories: repositoryCountsSchema,
    bytes_done: { ...s.count, description: 'Total size of the exported repositories.' },
    archive: {
      ...s.nullable(
        s.object({
          bytes: s.count,
          expires_at: s.dateTime,
          damaged: {
            ...s.boolean,
            description:
              'True if stored data of the archive is damaged. Start a new migration. The report names the damaged repositories.',
          },
        }),
      ),
      description: 'Null if no archive can be downloaded.',
    },
    held_locks: {
      ...s.count,
      description: 'Number of repositories that the migration currently locks.',
    },
    names: { ...s.arrayOf(s.string), description: 'Names of the first three repositories.' },
  },
  { description: 'A migration and its result, without the list of its repositories.' },
)

export const lockSchema = s.object(
  {
    full_name: s.string,
    locked_at: s.dateTime,
    expires_at: { ...s.dateTime, description: 'When the lock expires.' },
  },
  { description: 'A locked repository.' },
)

export const lockWithMigrationSchema = s.object(
  {
    ...lockSchema.properties,
    migration_id: s.integer,
    login: { ...s.string, description: 'The account whose migration locks the repository.' },
  },
  { description: 'A locked repository and the migration that locks it.' },
)

export const archiveLinkSchema = s.object(
  {
    url: {
      ...s.uri,
      description: 'Keep it secret: anyone who has this URL can download the archive.',
    },
    name: { ...s.string, description: 'File name of the archive.' },
    bytes: { ...s.count, description: 'Size of the archive.' },
    expires_at: { ...s.dateTime, description: 'When the link expires.' },
  },
  { description: 'A link to download an archive.' },
)

export type Migration = s.Static<typeof migrationSchema>
export type StartRequest = s.Static<typeof startRequestSchema>
export type Summary = s.Static<typeof summarySchema>
export type Lock = s.Static<typeof lockSchema>
export type LockWithMigration = s.Static<typeof lockWithMigrationSchema>
export type ArchiveLink = s.Static<typeof archiveLinkSchema>
