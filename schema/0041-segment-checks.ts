import type { SchemaStep } from './step.ts'

/**
 * When the stored bytes of each segment were last compared with its digest, and whether they were wrong. `stored_crc32` is the
 * CRC of the stored bytes, for downloads; it is null for what no archive contains. `archive_checked_at` is the same as
 * `checked_at` for an archive that the bucket has as one object.
 */
export const segmentChecks: SchemaStep = {
  name: 'segment checks',
  statements: () => [
    'alter table segments add column stored_crc32 bigint',
    'alter table segments add column checked_at bigint not null default 0',
    'alter table segments add column damaged_at bigint',
    'update segments set checked_at = created_at',
    'create index segments_by_check on segments (checked_at)',
    'create index damaged_segments on segments (damaged_at) where damaged_at is not null',
    'alter table migrations add column archive_checked_at bigint',
    'update migrations set archive_checked_at = ended_at where archive_key is not null',
    `create index migrations_by_archive_check on migrations (archive_checked_at)
      where archive_key is not null`,
    `create table store_checks (
      result text primary key,
      count bigint not null,
      bytes bigint not null)`,
    `insert into store_checks values ('intact', 0, 0), ('damaged', 0, 0)`,
  ],
}
