import { ID } from './column-types.ts'
import type { SchemaStep } from './step.ts'

/** Migrations that are started again and again, and what became of each time. */
export const schedules: SchemaStep = {
  name: 'schedules',
  statements: (engine) => [
    `create table schedules (
      id ${ID[engine]},
      owner_id bigint not null references accounts (id),
      maker_id bigint not null references accounts (id),
      repositories text not null,
      options text not null,
      every text not null,
      weekday text,
      at text not null,
      time_zone text not null,
      keep integer not null,
      next_run_at bigint not null,
      paused_at bigint,
      paused_reason text,
      created_at bigint not null,
      updated_at bigint not null)`,
    'create index schedules_by_owner on schedules (owner_id, id)',
    'create index schedules_due on schedules (next_run_at) where paused_at is null',
    `create table schedule_runs (
      id ${ID[engine]},
      schedule_id bigint not null references schedules (id) on delete cascade,
      due_at bigint,
      noted_at bigint not null,
      migration_id bigint references migrations (id),
      outcome text not null,
      reason text,
      skipped text not null)`,
    'create index schedule_runs_by_schedule on schedule_runs (schedule_id, id)',
    'create index schedule_runs_by_migration on schedule_runs (migration_id)',
  ],
}
