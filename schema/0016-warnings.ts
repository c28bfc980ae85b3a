import type { SchemaStep } from './step.ts'

/** What is told of a repository though it was exported; it belongs to the segment, so that it is known again when reused. */
export const warnings: SchemaStep = {
  name: 'warnings',
  statements: () => [
    'alter table segments add column warning text',
    'alter table migration_repositories add column warning text',
  ],
}
