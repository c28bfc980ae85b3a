import type { Db } from '../db/database.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import {
  ignoreRemoval,
  type RightsRefresher,
  rightsRefresher,
  STORED,
} from '../repositories/refresh-rights.ts'
import { recentlySignedIn } from '../repositories/rights-store.ts'
import type { Forge } from '../sources/forge/connect-forge.ts'
import type { Source } from '../sources/source.ts'
import type { Log } from './log.ts'

interface RightsParts {
  db: Db
  now: () => number
  log: Pick<Log['log'], 'warn'>
  source: Source | undefined
  forge: Forge | undefined
}

/** Returns the refresher of what accounts may do on the forge; undefined without a forge. */
export function openRights({ forge, log, ...parts }: RightsParts): RightsRefresher | undefined {
  if (!forge) return undefined
  const { url, catalogue, readRights } = forge
  return rightsRefresher({
    ...parts,
    catalogue,
    readRights,
    warn: (reason) => log.warn({ forge: url, reason }, `permissions of the forge: ${reason}`),
  })
}

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_ACCOUNTS = 500
const REFRESH_CONCURRENCY = 4

/** Refreshes the rights of the accounts that signed in during the last day. */
export async function refreshAllRights(
  { db, now }: { db: Db; now: () => number },
  rights: RightsRefresher,
): Promise<void> {
  const accounts = await recentlySignedIn(db, now() - DAY_MS, MAX_ACCOUNTS)
  await mapConcurrent(accounts.values(), { concurrency: REFRESH_CONCURRENCY }, async (account) => {
    await rights.refresh(account, STORED).catch(ignoreRemoval)
  })
}
