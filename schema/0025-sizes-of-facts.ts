import type { SchemaStep } from './step.ts'

const SIZE = {
  sqlite: "coalesce(json_extract(facts, '$.sizeKib'), 0)",
  postgres: "coalesce(round((facts::json ->> 'sizeKib')::numeric), 0)",
}

/** How large a repository is expected to be before anyone has looked at it: read with every progress, so not out of JSON. */
export const sizesOfFacts: SchemaStep = {
  name: 'sizes of facts',
  statements: (engine) => [
    'alter table facts add column size_kib bigint not null default 0',
    `update facts set size_kib = ${SIZE[engine]}`,
  ],
}
