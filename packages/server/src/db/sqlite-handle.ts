import { existsSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { addDiskDetails } from '@godwit/lib/disk-errors'
import { UserError } from '@godwit/lib/user-error'
import type { CompiledQuery, QueryResult } from 'kysely'

const CORRUPT = 11
const NOT_A_DATABASE = 26

/** The file is damaged. Only a backup helps, so nothing more is written to it. */
class DatabaseCorrupt extends UserError {
  override name = 'DatabaseCorrupt'
  constructor(path: string, cause: unknown) {
    const details = cause instanceof Error ? cause.message : cause
    super(`the database ${path} is damaged (${details}): restore it from a backup`, { cause })
  }
}

/** Returns the primary code of an SQLite error, without the upper bits of the extended code. */
function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number }
  return errcode === undefined ? undefined : errcode & 0xff
}

function isCorruption(error: unknown): boolean {
  const code = primaryCode(error)
  return code === CORRUPT || code === NOT_A_DATABASE
}

/** Reads the whole file and writes nothing. Opening it normally would first write what a crash left in the log. */
export function throwIfCorrupt(path: string): void {
  if (!existsSync(path)) return
  using db = new DatabaseSync(path, { readOnly: true })
  let result: unknown
  try {
    result = db.prepare('pragma quick_check(1)').get()?.quick_check
  } catch (error) {
    if (!isCorruption(error)) throw error
    throw new DatabaseCorrupt(path, error)
  }
  if (result !== 'ok') throw new DatabaseCorrupt(path, result)
}

const BUSY = 5
const BUSY_TIMEOUT_MS = 30_000
const MAX_PREPARED_STATEMENTS = 400
/** The longest total time of queries in one turn of the event loop. */
const MAX_TURN_MS = 10

export type OnDamage = (damage: DatabaseCorrupt) => void
export type Handle = Awaited<ReturnType<typeof openHandle>>
type Prepared = { statement: StatementSync; returnsRows: boolean }

/** Opens a handle on an SQLite file, whose queries are retried while another process holds a lock. */
export async function openHandle(
  path: string,
  onDamage: OnDamage | undefined,
  onUsed: () => void = () => {},
) {
  // No busy timeout: SQLite would block the only thread. `retryWhileBusy` waits between attempts instead.
  const db = new DatabaseSync(path, { timeout: 0 })
  const statements = new Map<string, Prepared>()
  let version: StatementSync | undefined

  async function retryWhileBusy<T>(run: () => T): Promise<T> {
    const deadline = performance.now() + BUSY_TIMEOUT_MS
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      if (usedMs > MAX_TURN_MS) await yieldToEventLoop()
      try {
        return measured(run)
      } catch (error) {
        if (isCorruption(error)) {
          const damage = new DatabaseCorrupt(path, error)
          onDamage?.(damage)
          throw damage
        }
        if (primaryCode(error) !== BUSY || performance.now() > deadline)
          throw addDiskDetails(error, db.location() ?? 'the database')
        await sleep(pause)
      }
    }
  }

  function prepare(sql: string): Prepared {
    const known = statements.get(sql)
    if (known) return known
    if (statements.size >= MAX_PREPARED_STATEMENTS) statements.clear()
    const statement = db.prepare(sql)
    // Cached, because `columns()` is slow: it builds a description of every column.
    const prepared = { statement, returnsRows: statement.columns().length > 0 }
    statements.set(sql, prepared)
    return prepared
  }

  function close(): void {
    statements.clear()
    db.close()
  }

  try {
    await retryWhileBusy(() => db.exec('pragma journal_mode = wal'))
    db.exec('pragma synchronous = full; pragma foreign_keys = on')
  } catch (error) {
    close()
    throw error
  }
  return {
    execute: <R>(query: CompiledQuery): Promise<QueryResult<R>> =>
      retryWhileBusy(() => {
        onUsed()
        const { statement, returnsRows } = prepare(query.sql)
        const values = query.parameters as SQLInputValue[]
        if (returnsRows) {
          const rows = statement.all(...values) as R[]
          return { rows, numAffectedRows: BigInt(rows.length) }
        }
        const { changes, lastInsertRowid } = statement.run(...values)
        return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
      }),
    /** Returns another number after every commit through any other handle, and NaN if the number cannot be read. */
    dataVersion(): number {
      try {
        version ??= db.prepare('pragma data_version')
        return Number(version.get()?.data_version)
      } catch {
        // The next read reports the error.
        return Number.NaN
      }
    },
    rollbackIfOpen(): void {
      if (db.isTransaction) db.exec('rollback')
    },
    close,
  }
}

/**
 * The time that queries of all databases have taken in this turn of the event loop. Node's SQLite is synchronous, so awaiting a query
 * does not let anything else run: without this, a loop of many small queries would block every request until its end.
 */
let usedMs = 0

function resetUsed(): void {
  usedMs = 0
}

function measured<T>(run: () => T): T {
  // Runs in the next turn of the event loop.
  if (usedMs === 0) setImmediate(resetUsed)
  const startedAt = performance.now()
  try {
    return run()
  } finally {
    // Never 0, which would schedule the reset a second time.
    usedMs += performance.now() - startedAt || Number.MIN_VALUE
  }
}
