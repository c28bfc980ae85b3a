import type { SchemaStep } from './step.ts'

export const exports: SchemaStep = {
  name: 'exports',
  statements: () => [
    // How many repositories have not yet come to an end; the one that takes it to zero seals the migration.
    'alter table migrations add column remaining integer not null default 0',
    'alter table migrations add column organizations text',
    // Set while there is an archive to download.
    'alter table migrations add column archive_expires_at bigint',
    `create index migrations_by_archive_expiry on migrations (archive_expires_at)
      where archive_expires_at is not null`,
    'alter table migration_repositories add column outcome text',
    'alter table migration_repositories add column segment_key text',
    'alter table migration_repositories add column reason text',
    'alter table migration_repositories add column finished_at bigint',
    'create index migration_repositories_by_segment on migration_repositories (segment_key)',
    // The key is that of the blob. Only what is verified and durable has a row.
    `create table segments (
      key text primary key,
      fingerprint text unique,
      repository_id bigint,
      length bigint not null,
      plain_length bigint not null,
      crc32 bigint not null,
      sha256 text not null,
      contents text,
      verified text,
      created_at bigint not null,
      named_at bigint not null)`,
    'create index segments_by_repository on segments (repository_id, created_at)',
    'create index segments_by_naming on segments (named_at)',
    `create table archive_segments (
      migration_id bigint not null references migrations (id),
      position integer not null,
      segment_key text not null references segments (key),
      primary key (migration_id, position))`,
    'create index archive_segments_by_segment on archive_segments (segment_key)',
    `create table repository_locks (
      migration_id bigint not null references migrations (id),
      repository_id bigint not null references repositories (id),
      locked_at bigint not null,
      expires_at bigint not null,
      released_at bigint,
      primary key (migration_id, repository_id))`,
    'create index repository_locks_by_repository on repository_locks (repository_id)',
    'create table secrets (name text primary key, value text not null)',
  ],
}
