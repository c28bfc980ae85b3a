import { ID } from './column-types.ts'
import type { SchemaStep } from './step.ts'

export const jobs: SchemaStep = {
  name: 'jobs',
  statements: (engine) => [
    `create table jobs (
      id ${ID[engine]},
      kind text not null,
      payload text not null,
      failures integer not null,
      due_at bigint not null,
      created_at bigint not null,
      lease text)`,
    'create index jobs_by_due_time on jobs (due_at, id)',
  ],
}
