import type { Engine, SchemaStep } from './step.ts'

const FACT: Record<Engine, (name: string) => string> = {
  sqlite: (name) => `cast(json_extract(facts, '$.${name}') as integer)`,
  postgres: (name) => `trunc((facts::json ->> '${name}')::numeric)::bigint`,
}
const IS_PRIVATE: Record<Engine, string> = {
  sqlite: FACT.sqlite('private'),
  postgres: "(facts::json ->> 'private')::boolean::integer",
}

/** Facts that lists are filtered and sorted by stand in columns of their own, so that a page never reads the others. */
export const listedRepositories: SchemaStep = {
  name: 'listed repositories',
  statements: (engine) => [
    'alter table repositories add column private integer not null default 1',
    'alter table repositories add column created_at bigint not null default 0',
    'alter table repositories add column updated_at bigint not null default 0',
    'alter table repositories add column pushed_at bigint not null default 0',
    `update repositories set
      private = ${IS_PRIVATE[engine]},
      created_at = ${FACT[engine]('createdAt')},
      updated_at = ${FACT[engine]('updatedAt')},
      pushed_at = ${FACT[engine]('pushedAt')}`,
    `create index repositories_listed on repositories
      (owner_id, name_key, private, created_at, updated_at, pushed_at, missing_since)`,
  ],
}
