import type { SchemaStep } from './step.ts'

export const progress: SchemaStep = {
  name: 'progress and cancelling',
  statements: () => [
    'alter table migrations add column started_at bigint',
    'alter table migrations add column ended_at bigint',
    'alter table migration_repositories add column started_at bigint',
    'alter table migration_repositories add column bytes_expected bigint',
    'alter table migration_repositories add column bytes_done bigint not null default 0',
    'alter table migration_repositories add column reused integer not null default 0',
    // The how-many-eth of its migration to come to an end: what a watcher has seen, it has seen up to here.
    'alter table migration_repositories add column finished_order integer',
    // Jobs that belong together and can be called off together.
    'alter table jobs add column batch text',
    'create index jobs_by_batch on jobs (batch)',
  ],
}
