import type { SchemaStep } from './step.ts'

/** What the snapshots of a worker take while they are read: part of what the service holds. */
export const scratchBytes: SchemaStep = {
  name: 'scratch bytes',
  statements: () => ['alter table workers add column scratch_bytes bigint'],
}
