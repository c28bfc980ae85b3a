import { sql } from 'kysely'
import { connect } from '../packages/server/src/db/connect.ts'
import type { Db } from '../packages/server/src/db/database.ts'
import { type Seeded, seedDatabase } from './seed.ts'

/** The number of ids that are read, spread evenly over all ids. */
const READABLE = 300

export interface Filled extends Seeded {
  readable: number[]
}

/** Seeds a database with very many finished migrations of one account, by SQL copies of one migration. */
export async function fillDatabase(data: string, count: number): Promise<Filled> {
  const seeded = await seedDatabase(data, [1])
  const [template] = seeded.migrations.values()
  const { db, close } = await connect({ dataDirectory: data, databaseUrl: undefined })
  try {
    const readable = await db
      .transaction()
      .execute((tx) => copyMigrations(tx, template!, count - seeded.migrations.size))
    return { ...seeded, readable }
  } finally {
    await close()
  }
}

async function copyMigrations(tx: Db, template: number, copies: number): Promise<number[]> {
  const [first, last] = [template + 1, template + copies]
  const numbers = sql`recursive numbers (n) as (
    select ${first} union all select n + 1 from numbers where n < ${last})`
  await sql`
    with ${numbers}
    insert into migrations (id, guid, ${await othersOf(tx, 'migrations', ['id', 'guid'])})
    select n, lower(hex(randomblob(16))), ${await othersOf(tx, 'migrations', ['id', 'guid'])}
    from numbers, migrations where id = ${template}`.execute(tx)
  await sql`
    with ${numbers}
    insert into repository_lists (migration_id, part, metadata_ids)
    select n, part, metadata_ids from numbers, repository_lists
    where migration_id = ${template}`.execute(tx)
  const step = Math.max(1, Math.floor(copies / READABLE))
  await sql`update accounts set migration_count = migration_count + ${copies}`.execute(tx)
  const most = Math.min(READABLE, copies)
  return Array.from({ length: most }, (_, at) => first + at * step)
}

async function othersOf(tx: Db, table: string, own: readonly string[]) {
  const { rows } = await sql<{
    name: string
  }>`select name from pragma_table_info(${table})`.execute(tx)
  const names = rows.map(({ name }) => name).filter((name) => !own.includes(name))
  return sql.join(names.map((name) => sql.ref(name)))
}
