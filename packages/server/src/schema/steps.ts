import { initialStatements } from './0001-initial.ts'

export type Engine = 'sqlite' | 'postgres'

/** One change of the schema. A step that was released is never edited: a mistake is corrected by a new step. */
export interface SchemaStep {
  name: string
  statements(engine: Engine): string[]
}

/** All steps, in the order in which they are applied. The number of a step is its place in this list, from 1. */
export const steps: readonly SchemaStep[] = [{ name: 'initial', statements: initialStatements }]
