import type { SchemaStep } from './step.ts'

/** What an archive is longer than its segments by: header, closing block and trailer. */
const AROUND_SEGMENTS = 1047

const carried = (sum: string) =>
  `coalesce((select ${sum} from migration_repositories as r
    where r.migration_id = migrations.id and r.outcome = 'carried'), 0)`

/** What has become of a migration so far, kept in its own row: a list of them never reads their repositories. */
export const summaries: SchemaStep = {
  name: 'summaries',
  statements: () => [
    'alter table migrations add column bytes_done bigint not null default 0',
    'alter table migrations add column reused_count integer not null default 0',
    'alter table migrations add column omitted_count integer not null default 0',
    'alter table migrations add column archive_bytes bigint',
    `update migrations set
      bytes_done = ${carried('sum(r.bytes_done)')},
      reused_count = ${carried('sum(r.reused)')},
      omitted_count = (select count(*) from migration_repositories as r
        where r.migration_id = migrations.id and r.outcome = 'omitted')`,
    `update migrations set archive_bytes = ${AROUND_SEGMENTS} + (
        select sum(length) from archive_segments join segments on key = segment_key
        where migration_id = migrations.id)
      where archive_expires_at is not null`,
  ],
}
