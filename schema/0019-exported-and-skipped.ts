import type { SchemaStep } from './step.ts'

/** One word for one thing: a repository is exported or skipped, in the database as everywhere else. */
export const exportedAndSkipped: SchemaStep = {
  name: 'exported and skipped',
  statements: () => [
    'alter table migrations rename column omitted_count to skipped_count',
    'drop index repository_exports_omitted',
    "update repository_exports set outcome = 'exported' where outcome = 'carried'",
    "update repository_exports set outcome = 'skipped' where outcome = 'omitted'",
    `create index repository_exports_skipped on repository_exports (migration_id, position)
      where outcome = 'skipped'`,
    "update tallies set name = 'repositories skipped' where name = 'repositories omitted'",
    "update tallies_by_minute set name = 'repositories skipped' where name = 'repositories omitted'",
  ],
}
