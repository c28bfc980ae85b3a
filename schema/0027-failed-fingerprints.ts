import type { SchemaStep } from './step.ts'

/** What a repository was like when it could not be exported: whether a retry could end otherwise is known by it. */
export const failedFingerprints: SchemaStep = {
  name: 'failed fingerprints',
  statements: () => ['alter table repository_exports add column fingerprint text'],
}
