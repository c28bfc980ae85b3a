import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { mapConcurrent } from '../packages/lib/src/turns.ts'
import { DEFAULT_OPTIONS } from '../packages/server/src/migrations/migration.ts'
import { alice } from '../test/support/repository-metadata.ts'
import { seedAccounts } from './starts-seed.ts'

interface Order {
  data: string
  databaseUrl: string | undefined
  owners: readonly string[]
}

interface StartLoad {
  starts: number
  clients: number
  repositories: number
}

/**
 * Measures how many starts a second the database driver can do if a start only writes its rows, in one
 * transaction each.
 */
export async function writeBare({ data, databaseUrl, owners }: Order, load: StartLoad) {
  await mkdir(data, { recursive: true })
  await seedAccounts({ dataDirectory: data, databaseUrl }, owners)
  const write = databaseUrl
    ? onPostgres(databaseUrl, load.clients)
    : onSqlite(join(data, 'godwit.sqlite'))
  const references = JSON.stringify(Array.from({ length: load.repositories }, (_, at) => at + 1))
  const startedAt = performance.now()
  await mapConcurrent(Array(load.starts).keys(), { concurrency: load.clients }, async (at) => {
    const row = rowOf(1 + (at % owners.length), load.repositories)
    await write.start(row, references)
  })
  const rate = (load.starts * 1000) / (performance.now() - startedAt)
  await write.close()
  return rate
}

const COLUMNS = ['guid', 'owner_id', 'owner', 'options', 'state', 'repository_count', 'remaining']
const TIMES = ['version', 'created_at', 'updated_at']

const rowOf = (ownerId: number, count: number) => [
  ...[randomUUID(), ownerId, JSON.stringify(alice), JSON.stringify(DEFAULT_OPTIONS), 'pending'],
  ...[count, count, 1, Date.now(), Date.now()],
]

const statements = (mark: (n: number) => string) => ({
  migration: `insert into migrations (${[...COLUMNS, ...TIMES].join(', ')})
    values (${Array.from({ length: 10 }, (_, n) => mark(n + 1)).join(', ')}) returning id`,
  count: `update accounts set migration_count = migration_count + 1 where id = ${mark(1)}`,
  repositories: `insert into repository_lists (migration_id, part, metadata_ids) values (${mark(1)}, 0, ${mark(2)})`,
  job: `insert into jobs (kind, payload, failures, due_at, created_at, batch)
    values ('begin-export', ${mark(1)}, 0, 0, 0, ${mark(2)})`,
})

type Row = ReturnType<typeof rowOf>

function onSqlite(file: string) {
  const db = new DatabaseSync(file)
  db.exec('pragma journal_mode = wal; pragma synchronous = full')
  const { migration, count, repositories, job } = statements(() => '?')
  const [insert, countOutcome, list, enqueue] = [migration, count, repositories, job].map((text) =>
    db.prepare(text),
  )
  return {
    async start(row: Row, references: string) {
      db.exec('begin immediate')
      const { id } = insert!.get(...row) as { id: number }
      countOutcome!.run(row[1]!)
      list!.run(id, references)
      enqueue!.run(JSON.stringify({ migrationId: id }), String(id))
      db.exec('commit')
    },
    close: async () => db.close(),
  }
}

function onPostgres(connectionString: string, clients: number) {
  const pool = new pg.Pool({ connectionString, max: clients })
  const { migration, count, repositories, job } = statements((n) => `$${n}`)
  return {
    async start(row: Row, references: string) {
      const client = await pool.connect()
      try {
        await client.query('begin')
        const { rows } = await client.query({ name: 'migration', text: migration, values: row })
        const { id } = rows[0]
        await client.query({ name: 'count', text: count, values: [row[1]] })
        await client.query({ name: 'repositories', text: repositories, values: [id, references] })
        const payload = [JSON.stringify({ migrationId: id }), String(id)]
        await client.query({ name: 'job', text: job, values: payload })
        await client.query('commit')
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  }
}
