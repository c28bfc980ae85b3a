import type { Kysely } from 'kysely'
import type { Pool } from 'pg'
import type { Engine } from '../../schema/step.ts'
import type { Tables } from './tables.ts'

export type Db = Kysely<Tables>

export interface Database {
  db: Db
  engine: Engine
  /** Of PostgreSQL, for parts that bring SQL of their own. */
  pool?: Pool
  close(): Promise<void>
}
