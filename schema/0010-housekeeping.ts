import type { SchemaStep } from './step.ts'

export const housekeeping: SchemaStep = {
  name: 'housekeeping',
  statements: () => [
    // Whose turn a piece of housekeeping is: of all processes on this database, the first that asks from then on.
    `create table turns (
      name text primary key,
      next_at bigint not null)`,
    // Noted here by every process, since those that only export answer no requests of their own.
    `create table blob_errors (
      operation text primary key,
      count bigint not null)`,
  ],
}
