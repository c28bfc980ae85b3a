import type { SchemaStep } from './step.ts'

/** Whether the forge said last that an account was deleted or suspended there: every process refuses it until the forge says otherwise. */
export const forgeRemovals: SchemaStep = {
  name: 'forge removals',
  statements: () => ['alter table forge_rights add column removal text'],
}
