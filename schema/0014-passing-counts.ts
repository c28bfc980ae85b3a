import type { SchemaStep } from './step.ts'

export const passingCounts: SchemaStep = {
  name: 'passing counts',
  statements: (engine) =>
    // A count of requests may be lost with its server; waiting for the disk at each of them would cost more.
    engine === 'postgres' ? ['alter table rate_limits set unlogged'] : [],
}
