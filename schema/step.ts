export type Engine = 'sqlite' | 'postgres'

/** One forward-only change of the schema. What has been released is never edited: a mistake is mended by a new step. */
export interface SchemaStep {
  name: string
  statements(engine: Engine): string[]
}
