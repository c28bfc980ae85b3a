import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite'
import { setImmediate as othersTurn, setTimeout as sleep } from 'node:timers/promises'
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
import type { ChangeCounter } from './prepared.ts'
import { DatabaseCorrupt, isCorruption, primaryCode } from './sqlite-corruption.ts'

const BUSY = 5
const LONGEST_WAIT_MS = 30_000
const STATEMENTS_KEPT = 400
/** How long queries may keep the event loop from everything else, one after the other. */
const LONGEST_TURN_MS = 10

type OnDamage = (damage: DatabaseCorrupt) => void

interface SqliteDialect extends Dialect {
  changes: ChangeCounter
  /** Past all that Kysely does for a query beside running it; undefined before the first of its own. */
  read(query: CompiledQuery): Promise<QueryResult<unknown>> | undefined
}

/**
 * Kysely on Node's own SQLite. Two handles on one file: every write and every transaction goes through the first, one
 * after the other; plain reads go through the second and so never wait behind an open transaction.
 */
export function sqliteDialect(path: string, onDamage?: OnDamage): SqliteDialect {
  const driver = new SqliteDriver(path, onDamage)
  return {
    createAdapter: () => new Adapter(),
    createDriver: () => driver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    changes: () => driver.changes(),
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
  #reader: Handle | undefined
  #writer: Handle | undefined
  #turn: Promise<void> = Promise.resolve()
  #changes: number | undefined
  readonly #forgetChanges = () => {
    this.#changes = undefined
  }

  constructor(path: string, onDamage: OnDamage | undefined) {
    this.#path = path
    this.#onDamage = onDamage
  }

  async init(): Promise<void> {
    this.#writer = await Handle.open(this.#path, this.#onDamage, this.#forgetChanges)
    this.#reader = await Handle.open(this.#path, this.#onDamage)
  }

  /**
   * As the reader sees them: what it has read at one count is still so while the count is the same. The count is read again
   * after every write of this process, and once in each turn of the event loop: what another process commits during a turn may
   * be seen only in the next.
   */
  changes(): number {
    if (this.#changes === undefined) {
      this.#changes = this.#reader?.dataVersion() ?? Number.NaN
      // It runs after the requests of this turn, and before those of the next.
      setImmediate(this.#forgetChanges)
    }
    return this.#changes
  }

  read(query: CompiledQuery): Promise<QueryResult<unknown>> | undefined {
    return this.#reader?.execute(query)
  }

  async acquireConnection(): Promise<SqliteConnection> {
    return new SqliteConnection(this.#reader!, this.#writer!, () => this.#takeTurn())
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
    const letGo = await this.#takeTurn()
    this.#reader?.close()
    this.#writer?.close()
    letGo()
  }

  /** Resolves, when all earlier writers are done, to a function that lets the next one go. */
  async #takeTurn(): Promise<() => void> {
    const before = this.#turn
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#turn = promise
    await before
    return resolve
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #reader: Handle
  readonly #writer: Handle
  readonly #takeTurn: () => Promise<() => void>
  #letGo: (() => void) | undefined

  constructor(reader: Handle, writer: Handle, takeTurn: () => Promise<() => void>) {
    this.#reader = reader
    this.#writer = writer
    this.#takeTurn = takeTurn
  }

  async begin(): Promise<void> {
    const letGo = await this.#takeTurn()
    try {
      // Immediate: an upgrade from read to write fails at once when someone else wrote in between.
      await this.#writer.execute(CompiledQuery.raw('begin immediate'))
    } catch (error) {
      letGo()
      throw error
    }
    this.#letGo = letGo
  }

  async end(how: 'commit' | 'rollback'): Promise<void> {
    try {
      // A full disk makes SQLite roll back by itself.
      if (how === 'rollback') this.#writer.abandon()
      else await this.#writer.execute(CompiledQuery.raw(how))
    } catch (error) {
      // A commit that failed may leave the transaction open, and the next writer must not inherit it.
      this.#writer.abandon()
      throw error
    } finally {
      this.#letGo?.()
      this.#letGo = undefined
    }
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (this.#letGo) return this.#writer.execute(query)
    if (query.query.kind === 'SelectQueryNode') return this.#reader.execute(query)
    const letGo = await this.#takeTurn()
    try {
      return await this.#writer.execute(query)
    } finally {
      letGo()
    }
  }

  /** All at once: an iteration that stays open would hold the reader at what it saw first. */
  async *streamQuery<R>(query: CompiledQuery): AsyncIterableIterator<QueryResult<R>> {
    yield await this.executeQuery<R>(query)
  }
}

interface Prepared {
  statement: StatementSync
  givesRows: boolean
}

class Handle {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, Prepared>()
  readonly #damaged: (error: unknown) => DatabaseCorrupt
  readonly #onUsed: (() => void) | undefined
  #dataVersion: StatementSync | undefined

  private constructor(
    db: DatabaseSync,
    damaged: (error: unknown) => DatabaseCorrupt,
    onUsed: (() => void) | undefined,
  ) {
    this.#db = db
    this.#damaged = damaged
    this.#onUsed = onUsed
  }

  static async open(
    path: string,
    onDamage: OnDamage | undefined,
    onUsed?: () => void,
  ): Promise<Handle> {
    const damaged = (cause: unknown) => {
      const damage = new DatabaseCorrupt(path, cause)
      onDamage?.(damage)
      return damage
    }
    // No busy timeout: SQLite would sleep on the only thread. Waiting is done here, between tries.
    const handle = new Handle(new DatabaseSync(path, { timeout: 0 }), damaged, onUsed)
    try {
      await handle.#patiently(() => handle.#db.exec('pragma journal_mode = wal'))
      handle.#db.exec('pragma synchronous = full; pragma foreign_keys = on')
      return handle
    } catch (error) {
      handle.close()
      throw error
    }
  }

  execute<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return this.#patiently(() => {
      this.#onUsed?.()
      const { statement, givesRows } = this.#prepare(query.sql)
      const values = query.parameters as SQLInputValue[]
      if (givesRows) {
        const rows = statement.all(...values) as R[]
        return { rows, numAffectedRows: BigInt(rows.length) }
      }
      const { changes, lastInsertRowid } = statement.run(...values)
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
    })
  }

  /** Another number after every commit through any other handle; none while that cannot be told. */
  dataVersion(): number {
    try {
      this.#dataVersion ??= this.#prepareDataVersion()
      return (this.#dataVersion.get() as unknown as [number])[0]
    } catch {
      // Whoever reads next is told what is wrong.
      return Number.NaN
    }
  }

  #prepareDataVersion(): StatementSync {
    const statement = this.#db.prepare('pragma data_version')
    statement.setReturnArrays(true)
    return statement
  }

  abandon(): void {
    if (this.#db.isTransaction) this.#db.exec('rollback')
  }

  close(): void {
    this.#statements.clear()
    this.#db.close()
  }

  #prepare(sql: string): Prepared {
    let prepared = this.#statements.get(sql)
    if (!prepared) {
      if (this.#statements.size >= STATEMENTS_KEPT) this.#statements.clear()
      const statement = this.#db.prepare(sql)
      // Asked once: the engine describes every column to answer.
      prepared = { statement, givesRows: statement.columns().length > 0 }
      this.#statements.set(sql, prepared)
    }
    return prepared
  }

  async #patiently<T>(act: () => T): Promise<T> {
    const deadline = performance.now() + LONGEST_WAIT_MS
    for (let pause = 1; ; pause = Math.min(pause * 2, 50)) {
      if (turn.usedMs > LONGEST_TURN_MS) await othersTurn()
      try {
        return turn.measure(act)
      } catch (error) {
        if (isCorruption(error)) throw this.#damaged(error)
        if (!isBusy(error) || performance.now() > deadline)
          throw addDiskFacts(error, this.#db.location() ?? 'the database')
        await sleep(pause)
      }
    }
  }
}

/**
 * The time that queries have taken since the event loop came by last. Node's SQLite answers at once, so awaiting a query does not
 * let anything else run: without this, a loop of many small queries would stall every request until its end.
 */
class Turn {
  usedMs = 0
  readonly #begin = () => {
    this.usedMs = 0
  }

  measure<T>(act: () => T): T {
    // It runs once the event loop has come by.
    if (this.usedMs === 0) setImmediate(this.#begin)
    const startedAt = performance.now()
    try {
      return act()
    } finally {
      this.usedMs += performance.now() - startedAt || Number.MIN_VALUE
    }
  }
}

/** The time that queries of this thread have used, shared by all databases that it has open. */
const turn = new Turn()

const isBusy = (error: unknown): boolean => primaryCode(error) === BUSY
