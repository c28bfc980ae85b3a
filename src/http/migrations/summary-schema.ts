import {
  address,
  all,
  count,
  flag,
  integer,
  moment,
  momentOrNull,
  orNull,
  recordOf,
  text,
  textOrNull,
} from '../description/json-schema.ts'
import { migrationStates } from './migration-schema.ts'

export const repositoryCountsSchema = recordOf({
  ...all(['total', 'skipped', 'remaining'], count),
  exported: { ...count, description: 'With those that were reused.' },
  reused: { ...count, description: 'Exported before and unchanged since.' },
})

export const summarySchema = recordOf(
  {
    id: integer,
    guid: { ...text, format: 'uuid' },
    state: { ...text, enum: migrationStates },
    reason: {
      ...textOrNull,
      description:
        'Why it failed: `cancelled`, or a line for each repository that was not exported.',
    },
    ...all(['lock_repositories', 'exclude_metadata', 'exclude_git_data'], flag),
    ...all(['org_metadata_only', 'allow_partial'], flag),
    created_at: moment,
    ...all(['started_at', 'ended_at'], momentOrNull),
    repositories: repositoryCountsSchema,
    bytes_done: { ...count, description: 'Of the repositories that were exported.' },
    archive: {
      ...orNull(recordOf({ bytes: count, expires_at: moment })),
      description: 'Null while, or where, there is none to download.',
    },
    held_locks: { ...count, description: 'How many repositories it keeps locked.' },
  },
  { description: 'A migration and what has become of it, without its repositories.' },
)

export const lockSchema = recordOf(
  {
    full_name: text,
    locked_at: moment,
    expires_at: { ...moment, description: 'When it opens by itself.' },
  },
  { description: 'A repository that refuses pushes.' },
)

export const archiveLinkSchema = recordOf(
  {
    url: { ...address, description: 'A credential: whoever has it may download.' },
    name: { ...text, description: 'Of the file.' },
    bytes: count,
    expires_at: { ...moment, description: 'Of the link.' },
  },
  { description: 'Where to download an archive.' },
)
