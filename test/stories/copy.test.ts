import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { answers, copy, failToRun, serviceWithHistory } from '../support/copy-story.ts'
import { createDatabase } from '../support/postgres.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

// Copies to a bucket: test/long/copy-to-bucket.test.ts.

test('a backup is made while the service runs, updated, and restored', async (t) => {
  const { git, shared, service, token, id, unfinished } = await serviceWithHistory(t)
  const folder = temporaryDirectory(t)
  const [backup, restored] = [join(folder, 'backup'), join(folder, 'restored')]
  const source = ['--data', service.data, '--to', backup, '--online']
  const first = await copy({}, ...source)
  assert.deepEqual([first.unfinished_migrations, first.source_moved], [1, false])
  await git.speedUp()
  await untilEnded(service, token, unfinished, 'exported')
  const second = await copy({}, ...source)
  assert.equal(second.unfinished_migrations, 0)
  assert.ok(second.archives!.count > first.archives!.count)
  const expected = await answers(service, token, [id, unfinished])
  await service.stop()
  await copy({}, '--from', backup, '--to', restored, '--keep-source', '--verify', 'full')
  const again = await startSharedService(t, { ...shared, data: restored })
  assert.deepEqual(await answers(again, token, [id, unfinished]), expected)
  await again.stop()
  // A service was used here, so its changes must not be replaced.
  const onto = ['copy', '--data', backup, '--to', restored, '--keep-source']
  await failToRun(/is not empty, and not an unused copy of this service/, ...onto)
})

test('the database or the archives are copied alone', async (t) => {
  const { git, host, shared, service, token, id, unfinished } = await serviceWithHistory(t)
  await service.stop()
  await git.speedUp()
  const databaseUrl = await createDatabase()
  const source = ['--data', service.data]
  await failToRun(
    /two services must not have the same archives/,
    ...['copy', ...source, '--to-database-url', databaseUrl, '--keep-source'],
  )
  const { archives } = await copy({}, ...source, '--to-database-url', databaseUrl)
  assert.equal(archives, null)
  const onPostgres = { ...shared, databaseUrl }
  const there = await startSharedService(t, { ...onPostgres, data: service.data })
  await untilEnded(there, token, unfinished, 'exported')
  const expected = await answers(there, token, [id])
  await there.stop()

  const elsewhere = join(temporaryDirectory(t), 'elsewhere')
  const { tables } = await copy(
    {},
    ...source,
    '--database-url',
    databaseUrl,
    '--to-blobs',
    elsewhere,
  )
  assert.deepEqual(tables, [])
  await failToRun(
    /^godwit: the archives of this service were moved from /,
    ...['serve', ...source, '--database-url', databaseUrl, '--repositories', host.root],
  )
  const moved = await startSharedService(t, { ...onPostgres, data: elsewhere })
  assert.deepEqual(await answers(moved, token, [id]), expected)
})
