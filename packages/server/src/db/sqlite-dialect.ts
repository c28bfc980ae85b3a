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
import { type Handle, type OnDamage, openHandle } from './sqlite-handle.ts'

interface SqliteDialect extends Dialect {
  /** Returns another number after every commit, of this process or any other. */
  dataVersion(): number
  /** Runs a read without the overhead of Kysely. Returns undefined until Kysely has run its first query, which opens the database. */
  read(query: CompiledQuery): Promise<QueryResult<unknown>> | undefined
}

interface SqliteConnection extends DatabaseConnection {
  begin(): Promise<void>
  end(how: 'commit' | 'rollback'): Promise<void>
}

/**
 * Kysely on Node's own SQLite. Two handles on one file: writes and transactions go through the first, one after the other; plain
 * reads go through the second and so never wait for an open transaction.
 */
export function sqliteDialect(path: string, onDamage?: OnDamage): SqliteDialect {
  let writer: Handle | undefined
  let reader: Handle | undefined
  let lastWriter: Promise<void> = Promise.resolve()
  let version: number | undefined
  const clearVersion = () => {
    version = undefined
  }

  /** Resolves when all earlier writers are done, to a function that lets the next one start. */
  async function waitForWriter(): Promise<() => void> {
    const before = lastWriter
    const { promise, resolve } = Promise.withResolvers<void>()
    lastWriter = promise
    await before
    return resolve
  }

  const driver: Driver = {
    async init() {
      writer = await openHandle(path, onDamage, clearVersion)
      reader = await openHandle(path, onDamage)
    },
    acquireConnection: async () => createConnection(writer!, reader!, waitForWriter),
    beginTransaction: (connection) => (connection as SqliteConnection).begin(),
    commitTransaction: (connection) => (connection as SqliteConnection).end('commit'),
    rollbackTransaction: (connection) => (connection as SqliteConnection).end('rollback'),
    releaseConnection: async () => {},
    async destroy() {
      const release = await waitForWriter()
      reader?.close()
      writer?.close()
      release()
    },
  }

  return {
    createAdapter: () => new Adapter(),
    createDriver: () => driver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    read: (query) => reader?.execute(query),
    /**
     * The version that the reader sees: while it is the same, so is everything that was read. It is read again after every write of
     * this process, and once in each turn of the event loop: a commit of another process during a turn may be noticed only in the
     * next.
     */
    dataVersion() {
      if (version === undefined) {
        version = reader?.dataVersion() ?? Number.NaN
        // Runs after the requests of this turn and before those of the next.
        setImmediate(clearVersion)
      }
      return version
    },
  }
}

class Adapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true
  }
}

function createConnection(
  writer: Handle,
  reader: Handle,
  waitForWriter: () => Promise<() => void>,
): SqliteConnection {
  /** Set during a transaction. */
  let release: (() => void) | undefined

  async function executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    if (release) return writer.execute(query)
    if (query.query.kind === 'SelectQueryNode') return reader.execute(query)
    const releaseWriter = await waitForWriter()
    try {
      return await writer.execute(query)
    } finally {
      releaseWriter()
    }
  }

  return {
    async begin() {
      const releaseWriter = await waitForWriter()
      try {
        // Immediate: an upgrade from read to write fails at once if another process wrote in between.
        await writer.execute(CompiledQuery.raw('begin immediate'))
      } catch (error) {
        releaseWriter()
        throw error
      }
      release = releaseWriter
    },
    async end(how) {
      try {
        // On a full disk, SQLite has already rolled back.
        if (how === 'rollback') writer.rollbackIfOpen()
        else await writer.execute(CompiledQuery.raw(how))
      } catch (error) {
        // A failed commit may leave the transaction open, and the next writer must not inherit it.
        writer.rollbackIfOpen()
        throw error
      } finally {
        release?.()
        release = undefined
      }
    },
    executeQuery,
    /** Reads all rows at once: an open iteration would keep the reader on an old snapshot. */
    async *streamQuery<R>(query: CompiledQuery) {
      yield await executeQuery<R>(query)
    },
  }
}
