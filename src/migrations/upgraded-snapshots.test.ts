import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { type Engine, onEachEngine, openOldDatabase } from '../../test/support/databases.ts'
import { alice, repositoryFacts } from '../../test/support/facts.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { archiveSegments, dropArchive } from './archive-store.ts'
import { exportedRepositories } from './export-store.ts'
import { ORDINARY } from './migration.ts'
import { findMigration } from './migration-store.ts'
import { notExportedFrom } from './outcome-store.ts'
import { progressOf } from './progress.ts'
import { unusedSegments } from './segment-sweep.ts'
import { repositoriesOf } from './snapshot-store.ts'

/** The last schema in which every migration had a copy of all facts. */
const BEFORE = 17

const named = (count: number) =>
  Array.from({ length: count }, (_, n) =>
    repositoryFacts({ id: n + 1, name: `r${n}`, description: `it's "${n}" of ünïcode` }),
  )

interface OldRepository {
  facts: RepositoryFacts
  outcome?: string
  segment_key?: string
  reason?: string
  warning?: string
  started_at?: number
  finished_at?: number
  finished_order?: number
  bytes_expected?: number
  bytes_done?: number
  reused?: number
}

interface OldMigration {
  id: number
  state: string
  expiresAt?: number
}

async function oldScene(t: TestContext, engine: Engine) {
  const old = await openOldDatabase(t, engine, BEFORE)
  const { db, run } = old
  await run("insert into accounts values (1, 'alice', 'alice', 'User', 0, 0, 0)")

  async function insert({ id, state, expiresAt }: OldMigration, repositories: OldRepository[]) {
    const remaining = repositories.filter(({ outcome }) => !outcome).length
    await sql`insert into migrations (id, guid, owner_id, owner, options, state, repository_count, version, created_at,
        updated_at, remaining, archive_expires_at, started_at)
      values (${id}, ${`guid ${id}`}, 1, ${JSON.stringify(alice)}, ${JSON.stringify(ORDINARY)}, ${state},
        ${repositories.length}, 3, 5, 6, ${remaining}, ${expiresAt ?? null}, 7)`.execute(db)
    for (const [position, { facts, ...columns }] of repositories.entries()) {
      const given = { reused: 0, bytes_done: 0, ...columns }
      await sql`insert into migration_repositories (migration_id, position, repository_id, full_name, facts,
          ${sql.join(Object.keys(given).map((name) => sql.ref(name)))})
        values (${id}, ${position}, ${facts.id}, ${fullNameOf(facts)}, ${JSON.stringify(facts)},
          ${sql.join(Object.values(given))})`.execute(db)
    }
  }
  return { ...old, insert }
}

const CARRIED = { outcome: 'carried', started_at: 10, finished_at: 20, bytes_expected: 9 }

onEachEngine('snapshots of an older database', (engine) => {
  test('tell the same after the upgrade, and share their facts', async (t) => {
    const { db, run, insert, upgrade } = await oldScene(t, engine)
    const [a, b, c] = named(3) as [RepositoryFacts, RepositoryFacts, RepositoryFacts]
    const reused = { ...CARRIED, segment_key: 'kb', reused: 1, bytes_done: 9, warning: 'odd' }
    await insert({ id: 4, state: 'exported', expiresAt: 99 }, [
      { facts: a, ...CARRIED, segment_key: 'ka', bytes_done: 9, finished_order: 2 },
      { facts: b, outcome: 'omitted', reason: 'broken', finished_at: 30, finished_order: 3 },
      { facts: c, ...reused, finished_order: 1 },
    ])
    await insert({ id: 7, state: 'exporting' }, [
      { facts: c },
      { facts: a, started_at: 11, bytes_expected: 9, bytes_done: 4 },
      { facts: b, ...CARRIED, segment_key: 'kc', bytes_done: 9, finished_order: 1 },
    ])
    await run(`insert into segments (key, fingerprint, length, plain_length, crc32, sha256, created_at, named_at)
      values ('m', null, 1, 1, 0, '', 0, 0), ('n', null, 1, 1, 0, '', 0, 0), ('ka', 'a', 1, 1, 0, '', 0, 0), ('kb', 'b', 1, 1, 0, '', 0, 0),
        ('kc', 'c', 1, 1, 0, '', 0, 0), ('unused', 'd', 1, 1, 0, '', 0, 0)`)
    await run(
      "insert into archive_segments values (4, 0, 'm'), (4, 1, 'ka'), (4, 2, 'kb'), (4, 3, 'n')",
    )
    await upgrade()

    const scope = { owner: alice }
    const ended = (await findMigration(db, scope, 4))!
    const running = (await findMigration(db, scope, 7))!
    assert.deepEqual(await repositoriesOf(db, ended), [a, b, c])
    assert.deepEqual(await repositoriesOf(db, running), [c, a, b])
    const { rows } = await sql<{ n: number }>`select count(*) as n from facts`.execute(db)
    assert.equal(Number(rows[0]!.n), 3)
    assert.deepEqual(
      (await exportedRepositories(db, ended)).map(({ segmentKey, reason }) => [segmentKey, reason]),
      [
        ['ka', null],
        [null, 'broken'],
        ['kb', null],
      ],
    )
    assert.deepEqual(await notExportedFrom(db, ended, 5), [
      { fullName: 'alice/r1', reason: 'broken' },
    ])
    const { repositories } = await progressOf(db, running)
    assert.deepEqual(
      repositories.map(({ state, bytesDone, order }) => [state, bytesDone, order]),
      [
        ['waiting', 0, null],
        ['exporting', 4, null],
        ['exported', 9, 1],
      ],
    )
    const [, , third] = (await progressOf(db, ended)).repositories
    assert.deepEqual(third, {
      fullName: 'alice/r2',
      state: 'exported',
      bytesDone: 9,
      bytesExpected: 9,
      reused: true,
      reason: null,
      warning: 'odd',
      startedAt: 10,
      finishedAt: 20,
      order: 1,
      records: null,
    })

    const keys = async () => (await archiveSegments(db, ended)).map(({ key }) => key)
    assert.deepEqual(await keys(), ['m', 'ka', 'kb', 'n'])
    const unused = async () => (await unusedSegments(db, 50)).map(({ key }) => key).sort()
    assert.deepEqual(await unused(), ['unused'])
    assert.deepEqual(await db.transaction().execute((tx) => dropArchive(tx, 4, 40)), ['m', 'n'])
    assert.deepEqual(await unused(), ['ka', 'kb', 'unused'])
  })

  test('of many repositories, among small ones, come over whole', async (t) => {
    const { db, insert, upgrade } = await oldScene(t, engine)
    const many = named(1203)
    const sizes = [3, 1203, 0, 499, 500, 1, 501]
    for (const [at, size] of sizes.entries()) {
      const repositories = many.slice(0, size).map((facts) => ({ facts }))
      await insert({ id: at + 1, state: 'failed' }, repositories)
    }
    await upgrade()
    for (const [at, repositoryCount] of sizes.entries()) {
      const read = await repositoriesOf(db, { id: at + 1, repositoryCount })
      assert.deepEqual(read, many.slice(0, repositoryCount))
    }
    const { rows } = await sql<{ n: number }>`select count(*) as n from facts`.execute(db)
    assert.equal(Number(rows[0]!.n), 1203)
  })
})
