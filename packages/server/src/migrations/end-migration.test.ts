import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Engine, onEachEngine } from '../../../../test/support/databases.ts'
import { endOf, exportScene } from '../../../../test/support/export-scene.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import type { Queue } from '../queue/queue.ts'
import { DELIVER_WEBHOOK } from '../webhooks/record-event.ts'
import { insertWebhook } from '../webhooks/webhook-store.ts'
import { cancelMigration, type EndedMigration } from './end-migration.ts'
import { migrationById } from './export-store.ts'

async function scene(t: TestContext, engine: Engine) {
  const exporting = await exportScene(t, { 'alice/atlas': 'one', 'alice/birds': 'two' }, engine)
  const { db, queue } = exporting
  return {
    ...exporting,
    /** Adds a webhook and returns its id. */
    async webhook(login: string): Promise<number> {
      const owner = await ensureAccount(db, login, 0)
      const settings = { url: 'http://a.test', contentType: 'json', secret: null } as const
      const all = { ...settings, events: ['*'], isActive: true } as const
      return (await insertWebhook(db, { owner }, all, 0)).id
    },
    async recordedEvents() {
      const rows = await db.selectFrom('webhook_events').selectAll().orderBy('id').execute()
      return rows.map(({ webhook_id, action, subject }) => {
        const { summary, startedBy } = JSON.parse(subject) as EndedMigration
        return { webhook: webhook_id, action, migration: summary.id, by: startedBy.login }
      })
    },
    waiting: async () =>
      (await queue.backlog()).find(({ kind }) => kind === DELIVER_WEBHOOK)?.jobs ?? 0,
  }
}

onEachEngine('the end of a migration', (engine, testOnSqlite) => {
  testOnSqlite('is recorded for the webhooks of its owner, for every outcome', async (t) => {
    const { db, host, dependencies, start, work, webhook, recordedEvents, waiting } = await scene(
      t,
      engine,
    )
    const mine = await webhook('alice')
    await webhook('bob')
    const exported = await start(['atlas', 'birds'])
    await work()
    const partial = await start(['atlas', 'birds'], { allowPartial: true })
    const failed = await start(['atlas', 'birds'])
    const cancelled = await start(['atlas'])
    await cancelMigration(dependencies, await migrationById(db, cancelled))
    host.contents.delete('alice/birds')
    await work()
    const of = { webhook: mine, by: 'alice' }
    assert.deepEqual(
      (await recordedEvents()).sort((a, b) => a.migration - b.migration),
      [
        { ...of, action: 'exported', migration: exported },
        { ...of, action: 'partial', migration: partial },
        { ...of, action: 'failed', migration: failed },
        { ...of, action: 'cancelled', migration: cancelled },
      ],
    )
    assert.equal(await waiting(), 4)
  })

  test('is one transaction with its webhook events', async (t) => {
    const { db, start, work, queue, webhook, recordedEvents, waiting, errors } = await scene(
      t,
      engine,
    )
    await webhook('alice')
    const id = await start(['atlas'])
    let states: string[] | undefined
    const failing: Queue = {
      ...queue,
      async enqueue(tx, kind, payloads, batch, line) {
        await queue.enqueue(tx, kind, payloads, batch, line)
        if (kind !== DELIVER_WEBHOOK || states) return
        states = [(await endOf(tx, id)).state]
        throw new Error('the disk failed')
      },
    }
    await work({ queue: failing })
    assert.deepEqual(states, ['exported'])
    assert.match(errors.join(), /the disk failed/)
    assert.equal((await endOf(db, id)).state, 'exported', 'at the second attempt')
    assert.deepEqual([(await recordedEvents()).length, await waiting()], [1, 1], 'exactly once')
  })
})
