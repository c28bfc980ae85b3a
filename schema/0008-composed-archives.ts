import type { SchemaStep } from './step.ts'

export const composedArchives: SchemaStep = {
  name: 'composed archives',
  statements: () => [
    // The blob that holds the whole archive, where the store can make one of the segments by itself.
    'alter table migrations add column archive_key text',
    'create index migrations_by_archive_key on migrations (archive_key) where archive_key is not null',
  ],
}
