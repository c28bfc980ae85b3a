import type { SchemaStep } from './step.ts'

export const tallies: SchemaStep = {
  name: 'tallies',
  statements: () => [
    // What has ended so far, counted as it ends: counting rows would cost more with every migration.
    `create table tallies (
      name text primary key,
      count bigint not null,
      bytes bigint not null)`,
    `insert into tallies (name, count, bytes) values
      ('repositories exported', 0, 0),
      ('repositories reused', 0, 0),
      ('repositories omitted', 0, 0),
      ('migrations exported', 0, 0),
      ('migrations failed', 0, 0)`,
  ],
}
