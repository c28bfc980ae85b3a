import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import type { CompiledQuery, QueryResult } from 'kysely'
import { addDiskFacts } from '../lib/disk-errors.ts'
import { DatabaseCorrupt, isCorruption, primaryCode } from './sqlite-corruption.ts'

const BUSY = 5
const BUSY_TIMEOUT_MS = 30_000
const MAX_PREPARED_STATEMENTS = 400
/** The longest total time of queries in one turn of the event loop. */
const MAX_TURN_MS = 10

export type OnDamage = (damage: DatabaseCorrupt) => void

type Prepared = { statement: StatementSync; returnsRows: boolean }

/** One handle on an SQLite file, whose queries are retried while another process holds a lock. */
export class Handle {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, Prepared>()
  readonly #path: string
  readonly #onDamage: OnDamage | undefined
  readonly #onUsed: (() => void) | undefined
  #dataVersion: StatementSync | undefined

  private constructor(path: string, onDamage: OnDamage | undefined, onUsed?: () => void) {
    // No busy timeout: SQLite would block the only thread. `retryWhileBusy` waits between attempts instead.
    this.#db = new DatabaseSync(path, { timeout: 0 })
    this.#path = path
    this.#onDamage = onDamage
    this.#onUsed = onUsed
  }

  static async open(path: string, onDamage: OnDamage | undefined, onUsed?: () => void) {
    const handle = new Handle(path, onDamage, onUsed)
    try {
      await handle.#retryWhileBusy(() => handle.#db.exec('pragma journal_mode = wal'))
      handle.#db.exec('pragma synchronous = full; pragma foreign_keys = on')
      return handle
    } catch (error) {
      handle.close()
      throw error
    }
  }

  execute<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.#retryWhileBusy(() => {
      this.#onUsed?.()
      const { statement, returnsRows } = this.#prepare(query.sql)
      const values = query.parameters as SQLInputValue[]
      if (returnsRows) {
        const rows = statement.all(...values) as R[]
        return { rows, numAffectedRows: BigInt(rows.length) }
      }
      const { changes, lastInsertRowid } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
    })
  }

  /** Returns another number after every commit through any other handle, and NaN if the number cannot be read. */
  dataVersion(): number {
    try {
      this.#dataVersion ??= this.#prepareDataVersion()
      return (this.#dataVersion.get() as unknown as [number])[0]
    } catch {
      // The next read reports the error.
      return Number.NaN
    }
  }

  #prepareDataVersion(): StatementSync {
    const statement = this.#db.prepare('pragma data_version')
    statement.setReturnArrays(true)
    return statement
  }

  rollbackIfOpen(): void {
    if (this.#db.isTransaction) this.#db.exec('rollback')
  }

  close(): void {
    this.#statements.clear()
    this.#db.close()
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#statements.get(sql)
    if (!prepared) {
      if (this.#statements.size >= MAX_PREPARED_STATEMENTS) this.#statements.clear()
      const statement = this.#db.prepare(sql)
      // Cached, because `columns()` is slow: it builds a description of every column.
      prepared = { statement, returnsRows: statement.columns().length > 0 }
      this.#statements.set(sql, prepared)
    }
    return prepared
  }

  async #retryWhileBusy<T>(run: () => T): Promise<T> {
    const deadline = performance.now() + BUSY_TIMEOUT_MS
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      if (turn.usedMs > MAX_TURN_MS) await yieldToEventLoop()
      try {
        return turn.measure(run)
      } catch (error) {
        if (isCorruption(error)) {
          const damage = new DatabaseCorrupt(this.#path, error)
          this.#onDamage?.(damage)
          throw damage
        }
        if (primaryCode(error) !== BUSY || performance.now() > deadline)
          throw addDiskFacts(error, this.#db.location() ?? 'the database')
        await sleep(pause)
      }
    }
  }
}

/**
 * The time that queries have taken in this turn of the event loop. Node's SQLite is synchronous, so awaiting a query does not let
 * anything else run: without this, a loop of many small queries would block every request until its end.
 */
class Turn {
  usedMs = 0
  readonly #reset = () => {
    this.usedMs = 0
  }

  measure<T>(run: () => T): T {
    // Runs in the next turn of the event loop.
    if (this.usedMs === 0) setImmediate(this.#reset)
    const startedAt = performance.now()
    try {
      return run()
    } finally {
      // Never 0, which would schedule the reset a second time.
      this.usedMs += performance.now() - startedAt || Number.MIN_VALUE
    }
  }
}

/** Shared by all databases that this thread has open. */
const turn = new Turn()
