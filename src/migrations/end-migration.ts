import type { Account } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import type { Queue } from '../queue/queue.ts'
import { recordEvent } from '../webhooks/record-event.ts'
import type { MigrationAction } from '../webhooks/webhook.ts'
import { changeState, type MigrationEnd } from './export-store.ts'
import { endOf } from './log-outcome.ts'
import { readColumns } from './migration-store.ts'
import { type Summary, summaryById } from './summaries.ts'

/** The facts of a webhook event about a migration that has ended. */
export interface EndedMigration {
  summary: Summary
  /** The person who started it. */
  startedBy: Account
}

/**
 * Ends the migration, and records the event for the webhooks of its owner in the same transaction. Throws InvalidStateChange as
 * `changeState` does.
 */
export async function endMigration(
  parts: { queue: Queue; now: () => number },
  tx: Db,
  id: number,
  to: 'exported' | 'failed',
  end: MigrationEnd = {},
): Promise<void> {
  await changeState(tx, id, to, { now: parts.now(), ...end })
  const accounts = await readColumns(tx, id, ['owner', 'started_by'])
  const owner = JSON.parse(accounts.owner) as Account
  await recordEvent(parts, tx, { owner }, async () => {
    const summary = (await summaryById(tx, id))!
    const startedBy = accounts.started_by ? (JSON.parse(accounts.started_by) as Account) : owner
    const action: MigrationAction = endOf(summary).end
    const facts: EndedMigration = { summary, startedBy }
    return { event: 'migration', action, facts }
  })
}
