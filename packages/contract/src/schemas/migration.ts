import type { ExtendedRepository } from './repository.ts'
import * as S from './schema.ts'
import type { User } from './user.ts'

export const migrationStates = ['pending', 'exporting', 'exported', 'failed'] as const
/** The states on routes that are not part of GitHub's API. They distinguish cancelled migrations from failed ones. */
export const shownStates = [...migrationStates, 'cancelled'] as const
const zonedTime = S.dateTime.describe("Has the UTC offset of the server's time zone.")

export const migrationSchema = S.object(
  {
    id: S.integer,
    node_id: S.string.describe('An opaque identifier.'),
    owner: S.ref<User>('user'),
    guid: S.uuid,
    state: S.enumOf(migrationStates).describe(
      '`pending`, then `exporting`, then `exported` or `failed`; or directly from `pending` to `failed`. A migration never returns to an earlier state. A cancelled migration is `failed`.',
    ),
    ...S.each(
      [
        ...(['lock_repositories', 'exclude_metadata', 'exclude_git_data'] as const),
        ...(['exclude_attachments', 'exclude_releases', 'exclude_owner_projects'] as const),
        'org_metadata_only',
      ],
      S.boolean.describe('The value in the request that started the migration.'),
    ),
    repositories: S.arrayOf(S.ref<ExtendedRepository>('extended-repository')).describe(
      'In the order of the request. Empty if the caller excluded them.',
    ),
    url: S.uri,
    created_at: zonedTime,
    updated_at: zonedTime,
    archive_url: S.uri.describe('Present while the archive can be downloaded.'),
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
  allow_partial: `Skip repositories that cannot be exported, instead of failing the migration. ${S.EXTENSION}`,
}

export type StartFlag = keyof typeof startFlagDescriptions
export const startFlags = Object.keys(startFlagDescriptions) as StartFlag[]
export type StartFlags = Partial<Record<StartFlag, boolean>>

/** Returns the schema of each flag, with additional JSON schema keywords. */
const flagSchemas = (keywords: object) =>
  Object.fromEntries(
    startFlags.map((name) => [
      name,
      { ...S.boolean, ...keywords, description: startFlagDescriptions[name] },
    ]),
  ) as unknown as Record<StartFlag, typeof S.boolean>

export const startFlagsWithoutDefaults = flagSchemas({})
export const startFlagSchemas = flagSchemas({ default: false })

/** No control characters, no line separators, and nothing that changes the direction of text. */
export const PRINTABLE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]*$'

export const migrationName = S.stringOrNull.describe(
  `A name for the migration, without control characters, shown in lists and in the file name of the archive. Spaces around it are removed. ${S.EXTENSION}`,
  { maxLength: 100, pattern: PRINTABLE },
)

export const repositoryNames = S.arrayOf(
  S.string.refusing({ pattern: '^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)?$' }),
).describe(
  'Each is `owner/name`, or only the name if the repository belongs to the caller or the organization.',
  { maxItems: S.MAX_LIST_LENGTH },
)

export const startRequestSchema = S.request(
  {
    repositories: repositoryNames.refusing({ minItems: 1, uniqueItems: true }),
    exclude: S.arrayOf(S.string).describe(
      '`repositories` omits the repositories from the response. Other values are ignored.',
      { maxItems: S.MAX_LIST_LENGTH },
    ),
    name: migrationName,
    ...startFlagSchemas,
  },
  {
    required: ['repositories'],
    examples: [{ repositories: ['atlas'], lock_repositories: true }],
  },
)

export const repositoryCounts = S.object({
  ...S.each(['total', 'skipped', 'failed', 'remaining'], S.count),
  exported: S.count.describe('Number of exported repositories, including reused ones.'),
  incomplete: S.count.describe(
    'Number of exported repositories with missing LFS objects. If there are any, the export is partial. Counted when the migration ends.',
  ),
  reused: S.count.describe(
    'Number of repositories whose earlier export was reused, because they have not changed since.',
  ),
})

export const summarySchema = S.described(
  'A migration and its result, without the list of its repositories.',
  {
    id: S.integer,
    guid: S.uuid,
    name: S.stringOrNull.describe('The name that the account gave it, or null.'),
    state: S.enumOf(shownStates),
    reason: S.stringOrNull.describe(
      'Why the migration failed, with one line for each repository that could not be exported; or `cancelled`.',
    ),
    ...S.each(['lock_repositories', 'exclude_metadata', 'exclude_git_data'], S.boolean),
    ...S.each(['org_metadata_only', 'allow_partial'], S.boolean),
    created_at: S.dateTime,
    ...S.each(['started_at', 'ended_at'], S.dateTimeOrNull),
    repositories: repositoryCounts,
    bytes_done: S.count.describe('Total size of the exported repositories.'),
    archive: S.nullable(
      S.object({
        bytes: S.count,
        expires_at: S.dateTime,
        damaged: S.boolean.describe(
          'True if stored data of the archive is damaged. Start a new migration. The report names the damaged repositories.',
        ),
      }),
    ).describe('Null if no archive can be downloaded.'),
    held_locks: S.count.describe('Number of repositories that the migration currently locks.'),
    names: S.arrayOf(S.string).describe('Names of the first three repositories.'),
  },
)

export const lockSchema = S.described('A locked repository.', {
  full_name: S.string,
  locked_at: S.dateTime,
  expires_at: S.dateTime.describe('When the lock expires.'),
})

export const lockWithMigrationSchema = S.described(
  'A locked repository and the migration that locks it.',
  {
    ...lockSchema.properties,
    migration_id: S.integer,
    login: S.string.describe('The account whose migration locks the repository.'),
  },
)

export const archiveLinkSchema = S.described('A link to download an archive.', {
  url: S.uri.describe('Keep it secret: anyone who has this URL can download the archive.'),
  name: S.string.describe('File name of the archive.'),
  bytes: S.count.describe('Size of the archive.'),
  expires_at: S.dateTime.describe('When the link expires.'),
})

export type Migration = S.Static<typeof migrationSchema>
export type StartRequest = S.Static<typeof startRequestSchema>
export type Summary = S.Static<typeof summarySchema>
export type Lock = S.Static<typeof lockSchema>
export type LockWithMigration = S.Static<typeof lockWithMigrationSchema>
export type ArchiveLink = S.Static<typeof archiveLinkSchema>
