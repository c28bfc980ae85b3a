import { setTimeout as sleep } from 'node:timers/promises'
import { isPostgresUnavailable } from '../db/postgres-unavailable.ts'
import type { Config } from '../settings/config.ts'
import { DatabaseUnreachable, explainedDatabase } from './database-errors.ts'
import type { Log } from './log.ts'

/** Long enough for PostgreSQL to be restarted. */
const LONGEST_WAIT_MS = 60_000
const PAUSE_MS = 500

/**
 * Runs the start of a process. Where PostgreSQL is not available, at whichever of its queries, the start is undone and tried again
 * for up to a minute; `start` must leave nothing behind when it rejects.
 */
export async function retryWhileDatabaseIsDown<T>(
  { databaseUrl }: Pick<Config, 'databaseUrl'>,
  log: Log['log'],
  start: () => Promise<T>,
): Promise<T> {
  const deadline = performance.now() + LONGEST_WAIT_MS
  for (let tries = 1; ; tries++) {
    try {
      return await start()
    } catch (error) {
      let cause = error
      while (cause instanceof SuppressedError) cause = cause.suppressed
      const isDown = cause instanceof DatabaseUnreachable || isPostgresUnavailable(cause)
      if (databaseUrl === undefined || !isDown) throw error
      const explained = explainedDatabase(cause, databaseUrl) as Error
      if (performance.now() > deadline) throw explained
      const wait = `waiting up to ${LONGEST_WAIT_MS / 1000} seconds for it`
      if (tries === 1) log.warn(`${explained.message}; ${wait}`)
      await sleep(PAUSE_MS)
    }
  }
}
