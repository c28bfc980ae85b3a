import type { MigrationState, ShownState } from '../../migrations/states.ts'
import {
  address,
  all,
  flag,
  integer,
  listOf,
  moment,
  recordOf,
  schemaNamed,
  text,
} from '../description/json-schema.ts'

export const migrationStates = [
  'pending',
  'exporting',
  'exported',
  'failed',
] satisfies MigrationState[]
/** The same on routes of our own, which tell a cancelled migration from a failed one. */
export const shownStates = [...migrationStates, 'cancelled'] satisfies ShownState[]
const zoned = { ...moment, description: "With the offset of the server's time zone." }

export const migrationSchema = recordOf(
  {
    id: integer,
    node_id: { ...text, description: 'Opaque.' },
    owner: schemaNamed('user'),
    guid: { ...text, format: 'uuid' },
    state: {
      ...text,
      enum: migrationStates,
      description:
        '`pending`, then `exporting`, then `exported` or `failed`; or from `pending` directly to `failed`. It never goes back. A cancelled migration is `failed`.',
    },
    ...all(
      [
        'lock_repositories',
        'exclude_metadata',
        'exclude_git_data',
        'exclude_attachments',
        'exclude_releases',
        'exclude_owner_projects',
        'org_metadata_only',
      ],
      { ...flag, description: 'As requested at the start.' },
    ),
    repositories: {
      ...listOf(schemaNamed('extended-repository')),
      description: 'In the requested order; empty if the caller excluded them.',
    },
    url: address,
    created_at: zoned,
    updated_at: zoned,
    archive_url: { ...address, description: 'Present while there is an archive to download.' },
  },
  { description: 'A migration of repositories.', sometimes: ['archive_url'] },
)
