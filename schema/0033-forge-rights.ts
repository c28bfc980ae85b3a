import type { SchemaStep } from './step.ts'

/**
 * Who may do what with a repository is said by its files and by the forge: what one says does not end what the other says. What the
 * forge said last is kept, for the time when it does not answer.
 */
export const forgeRights: SchemaStep = {
  name: 'forge rights',
  statements: () => [
    `create table collaborators_by_origin (
      repository_id bigint not null references repositories (id) on delete cascade,
      login_key text not null,
      origin text not null,
      permission text not null,
      primary key (repository_id, login_key, origin))`,
    `insert into collaborators_by_origin (repository_id, login_key, origin, permission)
      select repository_id, login_key, 'file', permission from collaborators`,
    'drop table collaborators',
    'alter table collaborators_by_origin rename to collaborators',
    'create index collaborators_by_login on collaborators (login_key)',
    'alter table repositories add column hidden text',
    `create table forge_repositories (
      name_key text primary key,
      facts text not null,
      asked_at bigint not null)`,
    `create table forge_rights (
      account_id bigint primary key references accounts (id),
      asked_at bigint not null)`,
  ],
}
