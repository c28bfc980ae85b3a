import type { SchemaStep } from './step.ts'

/** What people said about the repositories of a migration, and who is reading that of a forge. */
export const records: SchemaStep = {
  name: 'records',
  statements: () => [
    `create table record_exports (
      migration_id bigint not null references migrations (id),
      position integer not null,
      started_at bigint not null,
      records_done integer not null default 0,
      records_expected integer not null default 0,
      waiting_until bigint,
      waiting_for text,
      finished_at bigint,
      rows_key text,
      attachments_key text,
      assets_key text,
      as_of bigint,
      notes text,
      reused integer not null default 0,
      primary key (migration_id, position))`,
    `create table discussion_readers (
      repository text primary key,
      reader text not null,
      token text not null,
      held_until bigint not null)`,
  ],
}
