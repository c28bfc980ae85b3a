import type { SchemaStep } from './step.ts'

/** How many migrations an account has, counted as they start: counting rows would cost more with every one of them. */
export const migrationCounts: SchemaStep = {
  name: 'migration counts',
  statements: () => [
    'alter table accounts add column migration_count bigint not null default 0',
    `update accounts set migration_count =
      (select count(*) from migrations where migrations.owner_id = accounts.id)`,
  ],
}
