import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine, openOldDatabase } from '../../test/support/databases.ts'
import { planArchive } from '../archive/plan-archive.ts'
import { ORDINARY } from './migration.ts'
import { countSegments } from './segment-store.ts'
import { findSummary, listSummaries } from './summaries.ts'

const owner = { id: 1, login: 'alice', type: 'User', siteAdmin: false, createdAt: 0 } as const

onEachEngine('summaries', (engine) => {
  test('tell of migrations that ended before there were summaries', async (t) => {
    const { db, run, upgrade } = await openOldDatabase(t, engine, 8)
    await run("insert into accounts values (1, 'alice', 'alice', 'User', 0, 0)")
    await run(`insert into migrations (id, guid, owner_id, owner, options, state, repository_count, version, created_at,
        updated_at, remaining, archive_expires_at, started_at)
      values (1, 'a', 1, '${JSON.stringify(owner)}', '${JSON.stringify(ORDINARY)}', 'exported', 4, 3, 5, 6, 1, 99, 7),
        (2, 'b', 1, '${JSON.stringify(owner)}', '${JSON.stringify(ORDINARY)}', 'pending', 0, 1, 5, 6, 0, null, null)`)
    await run(`insert into migration_repositories (migration_id, position, repository_id, full_name, facts, outcome, reused,
        bytes_done)
      values (1, 0, 1, 'a/a', '{}', 'carried', 1, 30), (1, 1, 2, 'a/b', '{}', 'carried', 0, 12),
        (1, 2, 3, 'a/c', '{}', 'omitted', 0, 1000), (1, 3, 4, 'a/d', '{}', null, 0, 500)`)
    await run(`insert into segments (key, length, plain_length, crc32, sha256, created_at, named_at)
      values ('x', 100, 0, 0, '', 0, 0), ('y', 11, 0, 0, '', 0, 0), ('z', 7, 0, 0, '', 0, 0)`)
    await run("insert into archive_segments values (1, 0, 'x'), (1, 1, 'y')")
    await upgrade()

    assert.deepEqual({ ...(await countSegments(db)) }, { count: 3, bytes: 118 })
    const scope = { owner }
    const old = await findSummary(db, scope, 1)
    assert.deepEqual(old?.repositories, {
      total: 4,
      exported: 2,
      reused: 1,
      skipped: 1,
      failed: 0,
      remaining: 1,
    })
    assert.equal(old.bytesDone, 42)
    assert.deepEqual(old.archive, {
      bytes: planArchive([]).length + 111,
      expiresAt: 99,
      isDamaged: false,
    })
    const [newest] = await listSummaries(db, scope, { offset: 0, limit: 1 })
    assert.deepEqual([newest?.id, newest?.archive, newest?.bytesDone], [2, null, 0])
  })
})
