import type { ExtendedRepository } from './repository.ts'
import * as s from './schema.ts'
import type { User } from './user.ts'

export const migrationStates = ['pending', 'exporting', 'exported', 'failed'] as const
/** The states on routes that are not part of GitHub's API. They distinguish cancelled migrations from failed ones. */
export const shownStates = [...migrationStates, 'cancelled'] as const
const zonedTime = s.dateTime.describe("Has the UTC offset of the server's time zone.")

export const migrationSchema = s.object(
  {
    id: s.integer,
    node_id: s.string.describe('An opaque identifier.'),
    owner: s.ref<User>('user'),
    guid: s.uuid,
    state: s
      .enumOf(migrationStates)
      .describe(
        '`pending`, then `exporting`, then `exported` or `failed`; or directly from `pending` to `failed`. A migration never returns to an earlier state. A cancelled migration is `failed`.',
      ),
    ...s.each(
      [
        ...(['lock_repositories', 'exclude_metadata', 'exclude_git_data'] as const),
        ...(['exclude_attachments', 'exclude_releases', 'exclude_owner_projects'] as const),
        'org_metadata_only',
      ],
      s.boolean.describe('The value in the request that started the migration.'),
    ),
    repositories: s
      .arrayOf(s.ref<ExtendedRepository>('extended-repository'))
      .describe('In the order of the request. Empty if the caller excluded them.'),
    url: s.uri,
    created_at: zonedTime,
    updated_at: zonedTime,
    archive_url: s.uri.describe('Present while the archive can be downloaded.'),
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
export const PRINTABLE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$'

export const migrationName = s.stringOrNull.describe(
  `A name for the migration, without control characters, shown in lists and in the file name of the archive. Spaces around it are removed. ${s.EXTENSION}`,
  { maxLength: 100, pattern: PRINTABLE },
)

export const startRequestSchema = s.request(
  {
    repositories: s
      .arrayOf(s.string)
      .describe(
        'Each is `owner/name`, or only the name if the repository belongs to the caller or the organization.',
        { maxItems: s.MAX_LIST_LENGTH },
      ),
    exclude: s
      .arrayOf(s.string)
      .describe(
        '`repositories` omits the repositories from the response. Other values are ignored.',
        { maxItems: s.MAX_LIST_LENGTH },
      ),
    name: migrationName,
    ...startFlagSchemas,
  },
  {
    required: ['repositories'],
    examples: [{ repositories: ['alice/atlas'], lock_repositories: true }],
  },
)

export const repositoryCounts = s.object({
  ...s.each(['total', 'skipped', 'failed', 'remaining'], s.count),
  exported: s.count.describe('Number of exported repositories, including reused ones.'),
  reused: s.count.describe(
    'Number of repositories whose earlier export was reused, because they have not changed since.',
  ),
})

export const summarySchema = s.described(
  'A migration and its result, without the list of its repositories.',
  {
    id: s.integer,
    guid: s.uuid,
    name: s.stringOrNull.describe('The name that the account gave it, or null.'),
    state: s.enumOf(shownStates),
    reason: s.stringOrNull.describe(
      'Why the migration failed, with one line for each repository that could not be exported; or `cancelled`.',
    ),
    ...s.each(['lock_repositories', 'exclude_metadata', 'exclude_git_data'], s.boolean),
    ...s.each(['org_metadata_only', 'allow_partial'], s.boolean),
    created_at: s.dateTime,
    ...s.each(['started_at', 'ended_at'], s.dateTimeOrNull),
    repositories: repositoryCounts,
    bytes_done: s.count.describe('Total size of the exported repositories.'),
    archive: s
      .nullable(
        s.object({
          bytes: s.count,
          expires_at: s.dateTime,
          damaged: s.boolean.describe(
            'True if stored data of the archive is damaged. Start a new migration. The report names the damaged repositories.',
          ),
        }),
      )
      .describe('Null if no archive can be downloaded.'),
    held_locks: s.count.describe('Number of repositories that the migration currently locks.'),
    names: s.arrayOf(s.string).describe('Names of the first three repositories.'),
  },
)

export const lockSchema = s.described('A locked repository.', {
  full_name: s.string,
  locked_at: s.dateTime,
  expires_at: s.dateTime.describe('When the lock expires.'),
})

export const lockWithMigrationSchema = s.described(
  'A locked repository and the migration that locks it.',
  {
    ...lockSchema.properties,
    migration_id: s.integer,
    login: s.string.describe('The account whose migration locks the repository.'),
  },
)

export const archiveLinkSchema = s.described('A link to download an archive.', {
  url: s.uri.describe('Keep it secret: anyone who has this URL can download the archive.'),
  name: s.string.describe('File name of the archive.'),
  bytes: s.count.describe('Size of the archive.'),
  expires_at: s.dateTime.describe('When the link expires.'),
})

export type Migration = s.Static<typeof migrationSchema>
export type StartRequest = s.Static<typeof startRequestSchema>
export type Summary = s.Static<typeof summarySchema>
export type Lock = s.Static<typeof lockSchema>
export type LockWithMigration = s.Static<typeof lockWithMigrationSchema>
export type ArchiveLink = s.Static<typeof archiveLinkSchema>
