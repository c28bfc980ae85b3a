import assert from 'node:assert/strict'
import { test } from 'node:test'
import { exportScene } from '../../../../test/support/export-scene.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import { cancelMigration } from '../migrations/end-migration.ts'
import { migrationById } from '../migrations/export-store.ts'
import { retryMigration } from '../migrations/retry-migration.ts'

const THREE = { 'alice/atlas': 'one', 'alice/blog': 'two', 'alice/coast': 'three' }
const NAMES = Object.keys(THREE)
const DAMAGED = 'alice/blog could not be exported: objects/ab is damaged'

async function scene(t: Parameters<typeof exportScene>[0]) {
  const made = await exportScene(t, THREE)
  const damage = () => {
    made.host.onMake = async (fullName) => {
      if (fullName === 'alice/blog') throw new Unreadable('alice/blog: objects/ab is damaged')
    }
  }
  return { ...made, damage }
}

test('the log says that a migration was exported', async (t) => {
  const { start, work, logged } = await scene(t)
  await start(NAMES)
  await work()
  assert.deepEqual(logged, ['info: migration 1 of alice is exported: 3 repositories'])
})

test('the log warns of a partial export and names each skipped repository once', async (t) => {
  const { start, work, logged, damage } = await scene(t)
  damage()
  await start(NAMES, { allowPartial: true })
  await work()
  assert.deepEqual(logged, [
    `warn: ${DAMAGED}`,
    'warn: migration 1 of alice is partly exported: 2 of 3 repositories, 1 skipped',
  ])
})

test('the log and the manifest name repositories that a retry leaves out', async (t) => {
  const { db, host, dependencies, start, work, logged, archive } = await scene(t)
  const id = await start(NAMES)
  await work()
  host.contents.delete('alice/blog')
  const limits = { maxUnfinished: 99, lockTtlMs: 60_000 }
  const migration = await migrationById(db, id)
  const retry = { ...dependencies, ...limits }
  const again = { allowPartial: true }
  const retried = await retryMigration(retry, { owner: migration.owner }, migration, again)
  await work()
  const reason = 'it no longer exists, or may no longer be migrated'
  assert.deepEqual(logged.slice(1), [
    `warn: alice/blog could not be exported: ${reason}`,
    'warn: migration 2 of alice is partly exported: 2 of 3 repositories, 1 skipped',
  ])
  const { manifest } = await archive(retried.id)
  assert.deepEqual(manifest.skipped, [{ full_name: 'alice/blog', reason }])
})

test('the log has an error for a failed migration and names damaged repositories once', async (t) => {
  const { start, work, logged, damage } = await scene(t)
  damage()
  await start(NAMES)
  await work()
  assert.deepEqual(logged, [
    `warn: ${DAMAGED}`,
    'error: migration 1 of alice failed: 1 of 3 repositories could not be exported',
  ])
})

test('the log says why a migration could not begin', async (t) => {
  const { host, start, work, logged } = await scene(t)
  host.onLock = async () => {
    throw new Unreadable('config.lock is in the way')
  }
  await start(['alice/atlas'], { lockRepositories: true })
  await work()
  assert.equal(logged.length, 1)
  assert.match(
    logged[0]!,
    /^error: migration 1 of alice failed: a repository cannot be locked: .*config\.lock/,
  )
})

test('the log names a repository that failed after several attempts', async (t) => {
  const { host, start, work, logged } = await scene(t)
  host.onMake = async () => {
    throw new Error('no space left on device')
  }
  await start(['alice/atlas'])
  await work()
  assert.deepEqual(logged, [
    'warn: alice/atlas could not be exported: no space left on device',
    'error: migration 1 of alice failed: 1 of 1 repository could not be exported',
  ])
})

test('the log says that a migration was cancelled, not that it failed', async (t) => {
  const { db, host, dependencies, start, work, logged } = await scene(t)
  const id = await start(NAMES)
  host.onMake = async () => {
    await cancelMigration(dependencies, await migrationById(db, id))
  }
  await work()
  assert.deepEqual(logged, ['info: migration 1 of alice was cancelled'])
})
