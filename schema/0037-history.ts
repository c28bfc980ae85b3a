import type { SchemaStep } from './step.ts'

/**
 * Indexes for questions that would otherwise read a whole history: how fast the latest exports were, which every preflight asks;
 * segments in the order of their naming, page by page; and migrations and deliveries that are old.
 */
export const history: SchemaStep = {
  name: 'history',
  statements: () => [
    `create index repository_exports_timed on repository_exports (migration_id)
      where outcome = 'exported' and reused = 0 and started_at is not null and segment_key is not null`,
    'drop index segments_by_naming',
    'create index segments_by_naming on segments (named_at, key)',
    `create index migrations_without_archive on migrations (ended_at)
      where archive_expires_at is null and ended_at is not null`,
    'create index webhook_deliveries_by_age on webhook_deliveries (delivered_at)',
  ],
}
