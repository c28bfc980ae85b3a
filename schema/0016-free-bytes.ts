import type { SchemaStep } from './step.ts'

/** How much room a worker has for what it exports: an API process may not see that disk. */
export const freeBytes: SchemaStep = {
  name: 'free bytes',
  statements: () => ['alter table workers add column free_bytes bigint'],
}
