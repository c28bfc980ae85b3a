import { sql } from 'kysely'
import type { Db } from '../db/database.ts'

/** Long enough for someone to come back from a holiday and look. */
const KEPT_MS = 30 * 24 * 3_600_000
/** Of one webhook. */
export const MAX_KEPT = 500

/** The log of deliveries is bounded, by age and by number. What is still to be told stays. */
export async function sweepDeliveries(db: Db, now: number): Promise<void> {
  const old = now - KEPT_MS
  await db.deleteFrom('webhook_deliveries').where('delivered_at', '<', old).execute()
  const many = await db
    .selectFrom('webhook_deliveries')
    .select('webhook_id')
    .groupBy('webhook_id')
    .having((of) => of.fn.countAll(), '>', MAX_KEPT)
    .execute()
  for (const { webhook_id } of many) await keepNewest(db, webhook_id)
  await db
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', 'not in', (all) => all.selectFrom('webhooks').select('id'))
    .execute()
  await sweepEvents(db)
}

/** How many rows one statement looks at: on SQLite, everything else waits for it. */
const EVENTS_AT_ONCE = 2000

/** Events that ended and have no delivery left, and those of webhooks that are gone. */
async function sweepEvents(db: Db): Promise<void> {
  for (let after = 0; ; ) {
    const rows = await db
      .selectFrom('webhook_events')
      .select('id')
      .where('id', '>', after)
      .orderBy('id')
      .limit(EVENTS_AT_ONCE)
      .execute()
    const last = rows.at(-1)
    if (!last) return
    await deleteUnneededEvents(db, { after, upTo: last.id })
    after = last.id
  }
}

async function deleteUnneededEvents(
  db: Db,
  { after, upTo }: { after: number; upTo: number },
): Promise<void> {
  await db
    .deleteFrom('webhook_events')
    .where('id', '>', after)
    .where('id', '<=', upTo)
    .where((is) =>
      is.or([
        is('webhook_id', 'not in', is.selectFrom('webhooks').select('id')),
        is.and([
          is('state', '<>', 'waiting'),
          is.not(
            is.exists(
              is
                .selectFrom('webhook_deliveries')
                .select(sql.lit(1).as('one'))
                .whereRef('event_id', '=', 'webhook_events.id'),
            ),
          ),
        ]),
      ]),
    )
    .execute()
}

async function keepNewest(db: Db, webhookId: number): Promise<void> {
  const last = await db
    .selectFrom('webhook_deliveries')
    .select('id')
    .where('webhook_id', '=', webhookId)
    .orderBy('id', 'desc')
    .offset(MAX_KEPT)
    .limit(1)
    .executeTakeFirst()
  if (!last) return
  await db
    .deleteFrom('webhook_deliveries')
    .where('webhook_id', '=', webhookId)
    .where('id', '<=', last.id)
    .execute()
}
