import { diskReserve } from '@godwit/lib/disk-reserve'
import {
  commandLineActor,
  inAuditedTransaction,
  type RecordAudit,
} from '@godwit/server/accounts/audit-log'
import type { Db } from '@godwit/server/db/database'
import { userName } from '@godwit/server/service/data-owner'
import { withDatabase } from '@godwit/server/service/open-database'
import type { Command } from 'commander'
import { configAsDataOwner } from './command-line.ts'
import { DATABASE } from './service-settings.ts'

/** The operating-system user who runs the command, before it switches to the owner of the data directory. */
const uid = process.getuid?.() ?? 0
const user = (uid === 0 && process.env.SUDO_USER) || userName(uid)

export const COMMAND_LINE = commandLineActor(user)

/** Calls `act` with the database of the service, which must exist. */
export const withServiceDatabase = <T>(command: Command, act: (db: Db) => Promise<T>): Promise<T> =>
  withDatabase(configAsDataOwner(command, DATABASE), ({ db }) => act(db))

/** Changes the database in one transaction, which also records the change in the audit log. */
export async function changeDatabase<T>(
  command: Command,
  act: (tx: Db, record: RecordAudit) => Promise<T>,
  options?: { create?: boolean },
): Promise<T> {
  const config = configAsDataOwner(command, DATABASE)
  const change = () =>
    withDatabase(
      config,
      ({ db }) => inAuditedTransaction({ db, now: Date.now }, COMMAND_LINE, act),
      options,
    )
  // On a full disk, an operator must be able to revoke a token, also while no service runs.
  return config.databaseUrl === undefined ? diskReserve(config.data).withReserve(change) : change()
}
