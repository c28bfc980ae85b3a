import type { SchemaStep } from './step.ts'

/** What an operator looks at has exports that lack something beside those that failed: the way to the newest of them. */
export const partialExports: SchemaStep = {
  name: 'partial exports',
  statements: () => [
    `create index migrations_partial on migrations (ended_at)
      where state = 'exported' and skipped_count > 0`,
  ],
}
