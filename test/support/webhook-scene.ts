import type { TestContext } from 'node:test'
import type { KyselyPlugin } from 'kysely'
import { createAddressFilter } from '../../packages/lib/src/outgoing-requests/address-filter.ts'
import { createResolver } from '../../packages/lib/src/outgoing-requests/resolve-host.ts'
import type { Account } from '../../packages/server/src/accounts/account.ts'
import { ensureAccount } from '../../packages/server/src/accounts/account-store.ts'
import type { Db } from '../../packages/server/src/db/database.ts'
import { embeddedQueue } from '../../packages/server/src/queue/embedded.ts'
import type { Queue, StartedWorker } from '../../packages/server/src/queue/queue.ts'
import {
  createDeliveries,
  DELIVERIES_AT_ONCE,
  type DeliverDependencies,
} from '../../packages/server/src/webhooks/deliver-webhook.ts'
import { listDeliveries } from '../../packages/server/src/webhooks/delivery-store.ts'
import { recordEvent } from '../../packages/server/src/webhooks/record-event.ts'
import {
  findWebhook,
  insertWebhook,
  type Webhook,
  type WebhookSettings,
} from '../../packages/server/src/webhooks/webhook-store.ts'
import { type Engine, openDatabase } from './databases.ts'
import { TIMEOUT_MS, until } from './wait-until.ts'

export const NOON = Date.UTC(2026, 4, 4, 12)

/** Sets up webhooks with a database, a queue (by default the embedded one) and a clock that only the test advances. */
export async function webhookScene(
  t: TestContext,
  engine: Engine,
  queueAndDatabase?: { db: Db; queue: Queue },
) {
  const clock = { now: NOON }
  const now = () => clock.now
  // No lease expires because a test sets the clock.
  const leaseMs = 20 * 24 * 3_600_000
  const counts = { reads: 0, writes: 0 }
  const db = (queueAndDatabase?.db ?? (await openDatabase(t, engine)).db).withPlugin(
    countStatements(counts),
  )
  const queue =
    queueAndDatabase?.queue ??
    embeddedQueue({ db, now, leaseMs, pollIntervalMs: 20, retryPauseMs: 1 })
  const errors: string[] = []
  const logged: string[] = []
  const dependencies: DeliverDependencies = {
    ...{ db, queue, now, version: '1.2.3' },
    log: { info: (fields, words) => void logged.push(`${words} ${JSON.stringify(fields)}`) },
    send: {
      isAllowed: createAddressFilter(['127.0.0.0/8']),
      resolve: createResolver(),
      timeoutMs: TIMEOUT_MS,
    },
    payloadOf: ({ event, action, subject }) => ({ event, action, subject }),
  }
  let working: StartedWorker | undefined
  const scene = {
    ...{ db, clock, queue, dependencies, errors, logged, counts },

    createAccount: (login: string) => ensureAccount(db, login, 0),
    async addWebhook(
      owner: Account,
      url: string,
      more: Partial<WebhookSettings> = {},
    ): Promise<Webhook> {
      const defaults = { contentType: 'json', secret: null, events: ['migration'], isActive: true }
      const settings = { url, ...defaults, ...more } as WebhookSettings
      return insertWebhook(db, { owner }, settings, clock.now)
    },
    recordEnd: (owner: Account, action = 'exported', subject: unknown = {}) =>
      db.transaction().execute((tx) =>
        recordEvent(dependencies, tx, { owner }, async () => ({
          event: 'migration',
          action,
          subject,
        })),
      ),

    work(change: Partial<DeliverDependencies> = {}): void {
      const deliveries = createDeliveries({ ...dependencies, ...change })
      scene.resumeParked = deliveries.resumeParked
      working = queue.work(deliveries.handlers, {
        queue: 'webhooks',
        concurrency: DELIVERIES_AT_ONCE,
        onError: (error) => {
          if ((error as Error).name !== 'RetryLater') errors.push(String(error))
        },
      })
    },
    resumeParked: async () => {},
    async stop(): Promise<void> {
      await working?.stop()
    },
    /** Waits until no job is due. */
    async settle(): Promise<void> {
      await until(
        () => `nothing is due any more; ${errors.join('; ')}`,
        async () => {
          if (queue.running('webhooks') > 0) return false
          const left = await db
            .selectFrom('jobs')
            .select('id')
            .where((is) => is.or([is('due_at', '<=', clock.now), is('lease', 'is not', null)]))
            .executeTakeFirst()
          return left === undefined
        },
      )
    },
    async advanceClock(ms: number): Promise<void> {
      clock.now += ms
      queue.wake()
      await scene.settle()
    },
    deliveries: (webhook: Webhook) => listDeliveries(db, webhook, { limit: 100 }),
    webhook: async ({ id, owner }: Webhook) => (await findWebhook(db, { owner }, id))!,
  }
  t.after(scene.stop)
  return scene
}

/** Counts the statements that go through a database. */
const countStatements = (counts: { reads: number; writes: number }): KyselyPlugin => ({
  transformQuery({ node }) {
    counts[node.kind === 'SelectQueryNode' ? 'reads' : 'writes']++
    return node
  },
  transformResult: async ({ result }) => result,
})
