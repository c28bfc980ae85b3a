import type { SchemaStep } from './step.ts'

/** Only processes that share a database use it. */
export const rateLimits: SchemaStep = {
  name: 'rate limits',
  statements: () => [
    `create table rate_limits (
      key varchar(255) primary key,
      points integer not null default 0,
      expire bigint)`,
  ],
}
