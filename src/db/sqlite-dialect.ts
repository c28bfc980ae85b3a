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
import { Handle, type OnDamage } from './sqlite-handle.ts'

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
