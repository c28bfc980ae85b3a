import {
  address,
  all,
  count,
  flag,
  integer,
  listOf,
  moment,
  momentOrNull,
  orNull,
  recordOf,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import { shownStates } from './migration-schema.ts'

export const repositoryCountsSchema = recordOf({
  ...all(['total', 'skipped', 'failed', 'remaining'], count),
  exported: { ...count, description: 'Including reused repositories.' },
  reused: { ...count, description: 'Exported before and unchanged since then.' },
})

export const summarySchema = recordOf(
  {
    id: integer,
    guid: { ...text, format: 'uuid' },
    state: { ...text, enum: shownStates },
    reason: {
      ...textOrNull,
      description:
        'Why it failed: one line for each repository that could not be exported; or `cancelled`.',
    },
    ...all(['lock_repositories', 'exclude_metadata', 'exclude_git_data'], flag),
    ...all(['org_metadata_only', 'allow_partial'], flag),
    created_at: moment,
    ...all(['started_at', 'ended_at'], momentOrNull),
    repositories: repositoryCountsSchema,
    bytes_done: { ...count, description: 'Total size of the exported repositories.' },
    archive: {
      ...orNull(
        recordOf({
          bytes: count,
          expires_at: moment,
          damaged: {
            ...flag,
            description: 'Stored data is damaged: start a new migration. The report names it.',
          },
        }),
      ),
      description: 'Null if there is no archive to download.',
    },
    held_locks: { ...count, description: 'Number of repositories that it locks.' },
    names: { ...listOf(text), description: 'Names of the first three repositories.' },
  },
  { description: 'A migration and its result, without its repositories.' },
)

export const lockSchema = recordOf(
  {
    full_name: text,
    locked_at: moment,
    expires_at: { ...moment, description: 'When the lock expires.' },
  },
  { description: 'A locked repository.' },
)

export const heldLockSchema = recordOf(
  {
    ...lockSchema.properties,
    migration_id: integer,
    login: { ...text, description: 'The account whose migration locks it.' },
  },
  { description: 'A locked repository, and the migration that locks it.' },
)

export const archiveLinkSchema = recordOf(
  {
    url: { ...address, description: 'A credential: anyone who has it can download the archive.' },
    name: { ...text, description: 'File name of the archive.' },
    bytes: { ...count, description: 'Size of the archive.' },
    expires_at: { ...moment, description: 'When the link expires.' },
  },
  { description: 'A link to download an archive.' },
)
