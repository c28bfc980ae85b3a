import type { SchemaStep } from './step.ts'

const OF_FAILING = `select id from migrations where state <> 'exported' and (options not like '%"allowPartial":true%'
  or (state = 'failed' and skipped_count = repository_count))`

/** A repository that makes its migration fail has failed; skipped is what an archive does without. */
export const failedRepositories: SchemaStep = {
  name: 'failed repositories',
  statements: () => [
    'alter table migrations add column failed_count integer not null default 0',
    `update repository_exports set outcome = 'failed'
      where outcome = 'skipped' and migration_id in (${OF_FAILING})`,
    `update migrations set failed_count = skipped_count, skipped_count = 0
      where skipped_count > 0 and id in (${OF_FAILING})`,
    'drop index repository_exports_skipped',
    `create index repository_exports_not_exported on repository_exports (migration_id, position)
      where reason is not null`,
    "insert into tallies (name, count, bytes) values ('repositories failed', 0, 0)",
  ],
}
