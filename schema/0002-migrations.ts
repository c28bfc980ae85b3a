import { ID } from './column-types.ts'
import type { SchemaStep } from './step.ts'

export const migrations: SchemaStep = {
  name: 'migrations',
  statements: (engine) => [
    `create table migrations (
      id ${ID[engine]},
      guid text not null unique,
      owner_id bigint not null references accounts (id),
      owner text not null,
      options text not null,
      state text not null,
      reason text,
      repository_count integer not null,
      version integer not null,
      created_at bigint not null,
      updated_at bigint not null)`,
    'create index migrations_by_owner on migrations (owner_id, id)',
    // Few rows are ever unfinished, so this index stays small however many migrations there are.
    `create index migrations_unfinished on migrations (owner_id)
      where state in ('pending', 'exporting')`,
    `create table migration_repositories (
      migration_id bigint not null references migrations (id),
      position integer not null,
      repository_id bigint not null,
      full_name text not null,
      facts text not null,
      primary key (migration_id, position))`,
  ],
}
