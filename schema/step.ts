import type { Kysely } from 'kysely'

export type Engine = 'sqlite' | 'postgres'

/** One forward-only change of the schema. What has been released is never edited: a mistake is mended by a new step. */
export interface SchemaStep {
  name: string
  statements(engine: Engine): string[]
  /** What SQL alone cannot do, after the statements and in the same transaction. */
  convertRows?(tx: Kysely<unknown>): Promise<void>
}
