import type { SchemaStep } from './step.ts'

/** What was read of a forge, so that it need not be read again, and how much the forge is asked. */
export const discussions: SchemaStep = {
  name: 'discussions',
  statements: () => [
    `create table discussion_readings (
      repository text primary key,
      cursor text not null,
      kept_at bigint not null)`,
    `create table discussion_groups (
      repository text not null,
      key text not null,
      position bigint not null,
      version text not null,
      content text not null,
      primary key (repository, key))`,
    'create index discussion_groups_in_order on discussion_groups (repository, position, key)',
    `create table forge_budgets (
      forge text primary key,
      ends_at bigint not null,
      taken integer not null,
      held_until bigint not null)`,
  ],
}
