import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setTimeout as sleep, setImmediate as yieldToEventLoop } from 'node:timers/promises'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import { addDiskFacts } from '../lib/disk-errors.ts'
import { DatabaseCorrupt, isCorruption, primaryCode } from './sqlite-corruption.ts'

const BUSY = 5
const BUSY_TIMEOUT_MS = 30_000
const MAX_PREPARED_STATEMENTS = 400
/** The longest total time of queries in one turn of the event loop. */
const MAX_TURN_MS = 10

type OnDamage = (damage: DatabaseCorrupt) => void

interface SqliteDialect extends Dialect {
  /** Returns another number after every commit, of this process or any other. */
  dataVersion(): number
  /** Runs a read without the overhead of Kysely. Returns undefined until Kysely has run its first query, which opens the database. */
  read(query: CompiledQuery): Promise<QueryResult<unknown>> | undefined
}

/**
 * Kysely on Node's own SQLite. Two handles on one file: writes and transactions go through the first, one after the other; plain
 * reads go through the second and so never wait for an open transaction.
 */
export function sqliteDialect(path: string, onDamage?: OnDamage): SqliteDialect {
  const driver = new SqliteDriver(path, onDamage)
  return {
    createAdapter: () => new Adapter(),
    createDriver: () => driver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    dataVersion: () => driver.dataVersion(),
    read: (query) => driver.read(query),
  }
}

class Adapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

class SqliteDriver implements Driver {
  readonly #path: string
  readonly #onDamage: OnDamage | undefined
  reader: Handle | undefined
  writer: Handle | undefined
  #lastWriter: Promise<void> = Promise.resolve()
  #dataVersion: number | undefined
  readonly #clearDataVersion = () => {
    this.#dataVersion = undefined
  }

  constructor(path: string, onDamage: OnDamage | undefined) {
    this.#path = path
    this.#onDamage = onDamage
  }

  async init(): Promise<void> {
    this.writer = await Handle.open(this.#path, this.#onDamage, this.#clearDataVersion)
    this.reader = await Handle.open(this.#path, this.#onDamage)
  }

  /**
   * Returns the data version that the reader sees: while it is the same, so is everything that was read. It is read again after
   * every write of this process, and once in each turn of the event loop: a commit of another process during a turn may be noticed
   * only in the next.
   */
  dataVersion(): number {
    if (this.#dataVersion === undefined) {
      this.#dataVersion = this.reader?.dataVersion() ?? Number.NaN
      // Runs after the requests of this turn and before those of the next.
      setImmediate(this.#clearDataVersion)
    }
    return this.#dataVersion
  }

  read(query: CompiledQuery): Promise<QueryResult<unknown>> | undefined {
    return this.reader?.execute(query)
  }

  async acquireConnection(): Promise<SqliteConnection> {
    return new SqliteConnection(this)
  }

  async beginTransaction(connection: SqliteConnection): Promise<void> {
    await connection.begin()
  }

  async commitTransaction(connection: SqliteConnection): Promise<void> {
    await connection.end('commit')
  }

  async rollbackTransaction(connection: SqliteConnection): Promise<void> {
    await connection.end('rollback')
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    const release = await this.waitForWriter()
    this.reader?.close()
    this.writer?.close()
    release()
  }

  /** Resolves when all earlier writers are done, to a function that lets the next one start. */
  async waitForWriter(): Promise<() => void> {
    const before = this.#lastWriter
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#lastWriter = promise
    await before
    return resolve
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #driver: SqliteDriver
  readonly #reader: Handle
  readonly #writer: Handle
  #release: (() => void) | undefined

  constructor(driver: SqliteDriver) {
    this.#driver = driver
    this.#reader = driver.reader!
    this.#writer = driver.writer!
  }

  async begin(): Promise<void> {
    const release = await this.#driver.waitForWriter()
    try {
      // Immediate: an upgrade from read to write fails at once if another process wrote in between.
      await this.#writer.execute(CompiledQuery.raw('begin immediate'))
    } catch (error) {
      release()
      throw error
    }
    this.#release = release
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    try {
      // On a full disk, SQLite has already rolled back.
      if (how === 'rollback') this.#writer.rollbackIfOpen()
      else await this.#writer.execute(CompiledQuery.raw(how))
    } catch (error) {
      // A failed commit may leave the transaction open, and the next writer must not inherit it.
      this.#writer.rollbackIfOpen()
      throw error
    } finally {
      this.#release?.()
      this.#release = undefined
    }
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#release) return this.#writer.execute(query)
    if (query.query.kind === 'SelectQueryNode') return this.#reader.execute(query)
    const release = await this.#driver.waitForWriter()
    try {
      return await this.#writer.execute(query)
    } finally {
      release()
    }
  }

  /** Reads all rows at once: an open iteration would keep the reader on an old snapshot. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query)
  }
}

type Prepared = { statement: StatementSync; returnsRows: boolean }

class Handle {
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
