import type { SchemaStep } from './step.ts'

/** Who belongs to which organization, and by whose word: a membership that several state ends when the last has taken it back. */
export const memberships: SchemaStep = {
  name: 'memberships',
  statements: () => [
    `create table memberships (
      organization_id bigint not null references accounts (id),
      account_id bigint not null references accounts (id),
      origin text not null,
      role text not null,
      primary key (organization_id, account_id, origin))`,
    'create index memberships_by_account on memberships (account_id)',
  ],
}
