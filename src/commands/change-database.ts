import { commandLineActor, inAuditedTransaction, type RecordAudit } from '../accounts/audit-log.ts'
import type { Db } from '../db/database.ts'
import { userName } from '../service/data-owner.ts'
import { withDatabase } from '../service/open-database.ts'
import type { Config } from '../settings/config.ts'

/** The operating-system user who runs the command, before it switches to the owner of the data directory. */
const uid = process.getuid?.() ?? 0
const user = (uid === 0 && process.env.SUDO_USER) || userName(uid)

export const COMMAND_LINE = commandLineActor(user)

/** Changes the database in one transaction, which also records the change in the audit log. */
export const changeDatabase = <T>(
  config: Config,
  act: (tx: Db, record: RecordAudit) => Promise<T>,
  options?: { create?: boolean },
): Promise<T> =>
  withDatabase(
    config,
    ({ db }) => inAuditedTransaction({ db, now: Date.now }, COMMAND_LINE, act),
    options,
  )
