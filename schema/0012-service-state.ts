import type { SchemaStep } from './step.ts'

/** What an operator looks at: who works, how much was done when, and the way to it without reading every row. */
export const serviceState: SchemaStep = {
  name: 'service state',
  statements: () => [
    `create table workers (
      id text primary key,
      host text not null,
      pid integer not null,
      role text not null,
      version text not null,
      concurrency integer not null,
      running_jobs integer not null,
      started_at bigint not null,
      seen_at bigint not null)`,
    // The same as the tallies, but by the minute, and only for as long as anyone looks back.
    `create table tallies_by_minute (
      minute bigint not null,
      name text not null,
      count bigint not null,
      bytes bigint not null,
      primary key (minute, name))`,
    `create index migrations_unfinished_by_age on migrations (created_at)
      where state in ('pending', 'exporting')`,
    `create index migrations_failed on migrations (ended_at) where state = 'failed'`,
    `create index migrations_with_archive on migrations (archive_bytes)
      where archive_expires_at is not null`,
    `create index migration_repositories_omitted on migration_repositories (migration_id, position)
      where outcome = 'omitted'`,
    'create index segments_by_length on segments (length)',
  ],
}
