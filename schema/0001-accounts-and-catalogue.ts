import { ID } from './column-types.ts'
import type { SchemaStep } from './step.ts'

export const accountsAndCatalogue: SchemaStep = {
  name: 'accounts and catalogue',
  statements: (engine) => [
    `create table accounts (
      id ${ID[engine]},
      login text not null,
      login_key text not null unique,
      type text not null,
      site_admin integer not null,
      created_at bigint not null)`,
    `create table tokens (
      id ${ID[engine]},
      account_id bigint not null references accounts (id),
      name text not null,
      digest text not null unique,
      created_at bigint not null,
      expires_at bigint,
      last_used_at bigint,
      revoked_at bigint)`,
    'create index tokens_by_account on tokens (account_id)',
    `create table repositories (
      id ${ID[engine]},
      owner_id bigint not null references accounts (id),
      name text not null,
      name_key text not null,
      stamp text not null,
      facts text not null,
      fork_of text,
      problem text,
      missing_since bigint,
      synced_at bigint not null,
      unique (owner_id, name_key))`,
    'create index repositories_by_fork_parent on repositories (fork_of)',
    `create table collaborators (
      repository_id bigint not null references repositories (id) on delete cascade,
      login_key text not null,
      permission text not null,
      primary key (repository_id, login_key))`,
    'create index collaborators_by_login on collaborators (login_key)',
  ],
}
