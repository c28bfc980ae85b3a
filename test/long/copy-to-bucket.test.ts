import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  answers,
  copy,
  digestAt,
  failToRun,
  migrate,
  serviceWithHistory,
} from '../support/copy-story.ts'
import { createDatabase } from '../support/postgres.ts'
import { emptyBucket, envFor, needsObjectStore } from '../support/radosgw.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { untilEnded } from '../support/service.ts'
import { createCommandRunner } from '../support/shared-commands.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const MOVED = /^godwit: this service was moved to /

test(
  'a service is copied to PostgreSQL and a bucket, used there, and copied back, and answers the same',
  needsObjectStore,
  async (t) => {
    const history = await serviceWithHistory(t)
    const { host, git, receiver, shared, service, token, id, unfinished, link } = history
    const bucket = await emptyBucket()
    const env = envFor(bucket)
    const [databaseUrl, blobs] = [await createDatabase(), `s3://${bucket.bucket}/godwit`]
    const up = ['--to-database-url', databaseUrl, '--to-blobs', blobs]

    // While the service runs, only the archives are copied.
    const running = createCommandRunner({ env: { ...process.env, ...env } })
    const early = await running(['copy', '--data', service.data, ...up])
    assert.match(early.stderr, /^godwit: the archives are copied, but the service is still running/)
    await service.stop()
    const before = { ...(await copiedTables(service.data)) }
    const report = await copy(env, '--data', service.data, ...up, '--verify', 'full')
    assert.deepEqual([report.unfinished_migrations, report.source_moved], [1, true])
    assert.ok(report.archives!.count > 2)
    assert.deepEqual(report.archives!.damaged, [])
    assert.deepEqual(
      { ...before, audit_log: before.audit_log! + 1 },
      Object.fromEntries(report.tables.map((each) => [each.table, each.rows])),
      'the copy is in the audit log',
    )
    const data = ['--data', service.data]
    await failToRun(MOVED, 'serve', ...data, '--repositories', host.root)
    await failToRun(MOVED, 'token', 'add', 'alice', ...data)
    await failToRun(MOVED, 'sync', ...data, '--repositories', host.root)

    await git.speedUp()
    const flags = [...shared.flags!, '--blobs', blobs]
    const upstairs = await startSharedService(t, { ...shared, flags, databaseUrl, env })
    await untilEnded(upstairs, token, unfinished, 'exported')
    assert.equal(await digestAt(link), (await answers(upstairs, token, [id]))[`archive ${id}`])
    await until(
      'the end of the second migration is delivered',
      () => receiver.received.length === 3,
    )
    const unlock = `/user/migrations/${unfinished}/repos/birds/lock`
    assert.equal((await upstairs.call(token, unlock, { method: 'DELETE' })).status, 204)
    const third = await migrate(upstairs, token, { repositories: ['birds'] })
    assert.equal(third, unfinished + 1)
    await untilEnded(upstairs, token, third, 'exported')
    await until('the end of the third migration is delivered', () => receiver.received.length === 4)
    const all = [id, unfinished, third]
    const atTop = await answers(upstairs, token, all)
    await upstairs.stop()

    const down = join(temporaryDirectory(t), 'data')
    const from = ['--database-url', databaseUrl, '--blobs', blobs]
    await copy(env, ...from, '--to', down, '--verify', 'full')
    await failToRun(MOVED, 'work', ...from, '--repositories', host.root)
    const home = await startSharedService(t, { ...shared, data: down })
    assert.deepEqual(await answers(home, token, all), atTop)
    assert.equal(await digestAt(link), atTop[`archive ${id}`])
    assert.equal(await migrate(home, token, { repositories: ['atlas'] }), third + 1)
    await untilEnded(home, token, third + 1, 'exported')
  },
)

/** Returns what a copy that keeps the source reports for each table. */
async function copiedTables(data: string): Promise<Record<string, number>> {
  const { tables } = await copy({}, '--data', data, '--to', `${data}-kept`, '--keep-source')
  return Object.fromEntries(tables.map(({ table, rows }) => [table, rows]))
}
