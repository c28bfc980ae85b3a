import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { type Engine, onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { repositoryMetadata } from '../../../../test/support/repository-metadata.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import type { Db } from '../db/database.ts'
import type { RepositoryMetadata } from '../repositories/repository-metadata.ts'
import { changeState } from './export-store.ts'
import { DEFAULT_OPTIONS, type Migration } from './migration.ts'
import { insertMigration } from './migration-store.ts'
import { recordReused } from './outcome-store.ts'
import {
  fullNameAt,
  fullNamesOf,
  referencesOfPage,
  repositoriesAt,
  repositoriesOf,
  sweepMetadata,
} from './repository-list-store.ts'
import { insertSegment } from './segment-store.ts'

const DAY = 24 * 60 * 60 * 1000
const NOW = Date.UTC(2026, 10, 14)

const named = (count: number, change: Partial<RepositoryMetadata> = {}) =>
  Array.from({ length: count }, (_, n) =>
    repositoryMetadata({ id: n + 1, name: `r${n}`, ...change }),
  )

async function start(db: Db, repositories: RepositoryMetadata[], now = NOW) {
  const owner = await ensureAccount(db, 'alice', 0)
  const guid = crypto.randomUUID()
  const started = { guid, owner, options: DEFAULT_OPTIONS, repositories, organizations: null, now }
  return db.transaction().execute((tx) => insertMigration(tx, started))
}

async function countMetadata(db: Db): Promise<number> {
  const { count } = await db
    .selectFrom('repository_metadata')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return count
}

onEachEngine('a repository list', (engine) => {
  test('refers to metadata that is stored once, in its order', async (t) => {
    const { db } = await openDatabase(t, engine)
    const metadata = named(7)
    const [first, second, third] = [
      await start(db, metadata),
      await start(db, metadata.toReversed()),
      await start(db, named(7, { description: 'Changed' })),
    ]
    assert.equal(await countMetadata(db), 14)
    assert.deepEqual(await repositoriesOf(db, first), metadata)
    assert.deepEqual(await repositoriesOf(db, second), metadata.toReversed())
    assert.deepEqual(await repositoriesAt(db, third.id, [3]), [
      { ...metadata[3], description: 'Changed' },
    ])
    assert.equal(await fullNameAt(db, second.id, 0), 'alice/r6')
  })

  test('with several parts is read by page', async (t) => {
    const { db } = await openDatabase(t, engine)
    const metadata = named(1203)
    const migration = await start(db, metadata)
    const started = await referencesOfPage(db, migration, { offset: 0, limit: 2000 })
    const names = metadata.map(({ name }) => name)
    assert.deepEqual(
      await fullNamesOf(db, migration),
      names.map((name) => `alice/${name}`),
    )
    for (const [offset, limit] of [
      [0, 2000],
      [490, 30],
      [500, 1],
      [1200, 100],
      [1203, 10],
    ] as const) {
      const ids = await referencesOfPage(db, migration, { offset, limit })
      assert.deepEqual(ids, started.slice(offset, offset + limit))
    }
  })

  test('written by concurrent transactions stores equal metadata once', async (t) => {
    const { db } = await openDatabase(t, engine)
    const metadata = named(40)
    const orders = [metadata, metadata.toReversed(), metadata.slice(20), metadata.slice(0, 30)]
    await ensureAccount(db, 'alice', 0)
    const owners = await Promise.all(orders.map((_, n) => ensureAccount(db, `user${n}`, 0)))
    const migrations = await Promise.all(
      orders.flatMap((repositories, n) =>
        [0, 1].map(() =>
          db.transaction().execute((tx) =>
            insertMigration(tx, {
              guid: crypto.randomUUID(),
              owner: owners[n]!,
              options: DEFAULT_OPTIONS,
              repositories,
              organizations: null,
              now: NOW,
            }),
          ),
        ),
      ),
    )
    assert.equal(await countMetadata(db), 40)
    for (const [n, migration] of migrations.entries()) {
      assert.deepEqual(await repositoriesOf(db, migration), orders[n >> 1])
    }
  })
})

onEachEngine('the sweep of metadata', (engine) => {
  test('deletes old metadata that no list refers to', async (t) => {
    const { db } = await openDatabase(t, engine)
    await start(db, named(3))
    const deleted = await start(db, named(5, { description: 'Of a deleted migration' }))
    await db.deleteFrom('repository_lists').where('migration_id', '=', deleted.id).execute()
    assert.equal(await sweepMetadata(db, NOW + DAY), 0)
    assert.equal(await sweepMetadata(db, NOW + 8 * DAY), 5)
    assert.equal(await countMetadata(db), 3)
    assert.equal(await sweepMetadata(db, NOW + 8 * DAY), 0)
  })

  test('keeps metadata of a migration that starts meanwhile', async (t) => {
    const { db } = await openDatabase(t, engine)
    const metadata = named(30)
    const deleted = await start(db, metadata)
    await db.deleteFrom('repository_lists').where('migration_id', '=', deleted.id).execute()
    const later = NOW + 30 * DAY
    // At the same time, and in any order: the metadata of both migrations is complete.
    const [started, , next] = await Promise.all([
      start(db, metadata, later),
      sweepMetadata(db, later),
      start(db, metadata.toReversed(), later),
    ])
    assert.deepEqual(await repositoriesOf(db, started), metadata)
    assert.deepEqual(await repositoriesOf(db, next), metadata.toReversed())
    assert.equal(await sweepMetadata(db, later), 0)
  })
})

const ADDED = 100
const KIB = 1024

onEachEngine('a migration of 30 unchanged repositories', (engine) => {
  test('adds at most 4 KiB to the database, with its archive', async (t) => {
    const { db } = await openDatabase(t, engine)
    const metadata = named(30)
    for (let n = 0; n < ADDED; n++) await exported(db, await start(db, metadata))
    const before = await bytesOf(db, engine)
    for (let n = 0; n < ADDED; n++) await exported(db, await start(db, metadata))
    const added = ((await bytesOf(db, engine)) - before) / ADDED
    t.diagnostic(`${Math.round(added)} bytes`)
    assert.ok(added <= 4 * KIB, `${added} bytes`)
  })
})

/** Ends a migration as the jobs of an export of unchanged repositories would. */
async function exported(db: Db, { id }: Migration): Promise<void> {
  const reused = Array.from({ length: 30 }, (_, position) => {
    const segmentKey = crypto.randomUUID()
    return [position, { segmentKey, reused: true, bytes: 12_345_678, startedAt: NOW - 99 }] as const
  })
  await db.transaction().execute(async (tx) => {
    await changeState(tx, id, 'exporting', { now: NOW })
    await recordReused(tx, id, new Map(reused), NOW)
    const [metadataKey, manifestKey] = [crypto.randomUUID(), crypto.randomUUID()]
    const sizes = {
      length: 20_000,
      plainLength: 200_000,
      crc32: 4_000_000_000,
      storedCrc32: 4_000_000_000,
    }
    const sha256 = 'a'.repeat(64)
    for (const key of [metadataKey, manifestKey]) {
      await insertSegment(tx, { key, ...sizes, sha256 }, NOW)
    }
    const archive = { bytes: 370_000_000, expiresAt: NOW + 7 * DAY, metadataKey, manifestKey }
    await changeState(tx, id, 'exported', { now: NOW, archive })
  })
}

/** Returns the options of `vacuum` for all tables except those of PostgreSQL itself. */
async function ourTables(db: Db): Promise<string> {
  const tables = sql<{ name: string }>`select relname as name from pg_class
    where relkind = 'r' and relnamespace = 'public'::regnamespace`
  const { rows } = await tables.execute(db)
  return `full ${rows.map(({ name }) => `"${name}"`).join(', ')}`
}

/** Returns the size of all rows and indexes, without free space. */
async function bytesOf(db: Db, engine: Engine): Promise<number> {
  await sql.raw(`vacuum ${engine === 'postgres' ? await ourTables(db) : ''}`).execute(db)
  const size =
    engine === 'postgres'
      ? sql<{ bytes: number }>`select sum(pg_total_relation_size(oid))::bigint as bytes
          from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace`
      : sql<{ bytes: number }>`select page_count * page_size as bytes
          from pragma_page_count, pragma_page_size`
  return (await size.execute(db)).rows[0]!.bytes
}
