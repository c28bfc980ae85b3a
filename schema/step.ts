export type Engine = 'sqlite' | 'postgres'

/** One change of the schema. A step that was released is never edited: a mistake is corrected by a new step. */
export interface SchemaStep {
  name: string
  statements(engine: Engine): string[]
}
