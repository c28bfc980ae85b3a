import type { SchemaStep } from './step.ts'

/** What `godwit check` last found of each repository, for the operator's page. */
export const repositoryChecks: SchemaStep = {
  name: 'repository checks',
  statements: () => [
    `create table repository_checks (
      full_name text primary key,
      checked_at bigint not null,
      outcome text not null,
      reason text,
      warning text,
      bytes bigint not null,
      took_ms bigint not null)`,
    `create index repository_checks_failed on repository_checks (checked_at) where outcome = 'failed'`,
  ],
}
