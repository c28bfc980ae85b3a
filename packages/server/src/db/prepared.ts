import type { Compilable, CompiledQuery, QueryResult } from 'kysely'
import type { Db } from './database.ts'

/** Stands for a parameter of the query while it is built. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const MAX_CACHED_RESULTS = 10_000

/**
 * Prepares a query that every request runs. The query is built and compiled once. On SQLite, a result is cached until anything is
 * written, by this process or another one, so it is never older than the last commit. On PostgreSQL, concurrent callers share one
 * statement. Results are shared: callers must not change them. `isCached` is false for results that are large and needed once.
 *
 * CPU time of a row found by its key, 20 callers at a time: on SQLite 2 µs instead of 36 µs with plain Kysely (16 µs without the
 * cache), on PostgreSQL 16 µs instead of 256 µs. Every read of the API runs three to six such queries.
 */
export function prepared<Values extends object, Row, Result>(
  build: (db: Db, values: Values) => Compilable<Row>,
  read: (rows: Row[]) => Result,
  { isCached = true } = {},
): (db: Db, values: Values) => Promise<Result> {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) }) as Values
  const queries = new WeakMap<Db, (values: Values) => Promise<Result>>()

  function prepare(db: Db) {
    const query = build(db, placeholders).compile()
    const run = runner(db, query)
    return (values: Values) =>
      run(
        query.parameters.map((value) =>
          value instanceof Placeholder ? values[value.name as keyof Values] : value,
        ),
      )
  }

  function runner(db: Db, query: CompiledQuery): (parameters: unknown[]) => Promise<Result> {
    const { prepareMany, read: readDirectly, dataVersion } = shortcuts.get(db) ?? {}
    if (prepareMany) {
      const selectMany = prepareMany(query)
      return inBatches(async (all) => (await selectMany(all)).map((rows) => read(rows as Row[])))
    }
    async function run(parameters: unknown[]): Promise<Result> {
      const complete = { ...query, parameters }
      const { rows } = await (readDirectly?.(complete) ?? db.executeQuery(complete))
      return read(rows as Row[])
    }
    return dataVersion && isCached ? cachedUntilChange(dataVersion, run) : run
  }

  return (db, values) => {
    const run = queries.get(db) ?? prepare(db)
    queries.set(db, run)
    return run(values)
  }
}

function keyOf(parameters: readonly unknown[]): string {
  let key = String(parameters[0])
  for (let at = 1; at < parameters.length; at++) key += `\n${parameters[at]}`
  return key
}

/** How an engine runs prepared queries faster than Kysely does. */
interface Shortcuts {
  /** Runs a read without Kysely. Returns undefined if that is not possible yet. */
  read?(query: CompiledQuery): Promise<QueryResult<unknown>> | undefined
  /** Results are cached until this returns another number, as it does after every commit, of this process or any other. */
  dataVersion?(): number
  /** For an engine where every query is a round trip. Prepares a query for many sets of parameters; it returns the rows of each. */
  prepareMany?(query: CompiledQuery): (all: unknown[][]) => Promise<unknown[][]>
}

/** The shortcuts of each connected database. A transaction has none. */
export const shortcuts = new WeakMap<Db, Shortcuts>()

function cachedUntilChange<Result>(
  dataVersion: () => number,
  run: (parameters: unknown[]) => Promise<Result>,
): (parameters: unknown[]) => Promise<Result> {
  const cache = new Map<string, Promise<Result>>()
  let cachedAt = Number.NaN

  async function runAndCache(parameters: unknown[], key: string, now: number): Promise<Result> {
    const result = await run(parameters)
    // The result may lack what was written while it was read.
    const isCurrent = dataVersion() === now && cachedAt === now
    if (isCurrent && result !== undefined) cache.set(key, Promise.resolve(result))
    return result
  }

  return (parameters) => {
    const now = dataVersion()
    if (now !== cachedAt || cache.size > MAX_CACHED_RESULTS) {
      cache.clear()
      cachedAt = now
    }
    const key = keyOf(parameters)
    return cache.get(key) ?? runAndCache(parameters, key, now)
  }
}

/** Statements of one prepared query that may run at the same time: one that hangs must not delay the others. */
const MAX_CONCURRENT_STATEMENTS = 3

type Waiting<Result> = PromiseWithResolvers<Result> & { parameters: unknown[] }

/**
 * Runs one statement for all callers that arrive in the same turn of the event loop, or while the limit is reached. No caller joins a
 * statement that is running: its own starts after the call, and so sees everything that was committed by then.
 */
function inBatches<Result>(
  run: (all: unknown[][]) => Promise<Result[]>,
): (parameters: unknown[]) => Promise<Result> {
  let waiting = new Map<string, Waiting<Result>>()
  let isScheduled = false
  let running = 0

  function schedule(): void {
    if (isScheduled || running >= MAX_CONCURRENT_STATEMENTS || waiting.size === 0) return
    isScheduled = true
    // Requests that arrived together are read before this runs.
    setImmediate(runBatch)
  }

  function runBatch(): void {
    isScheduled = false
    running++
    const all = [...waiting.values()]
    waiting = new Map()
    run(all.map(({ parameters }) => parameters))
      .then(
        (results) => {
          for (const [at, { resolve }] of all.entries()) resolve(results[at]!)
        },
        (error: unknown) => {
          for (const { reject } of all) reject(error)
        },
      )
      .finally(() => {
        running--
        schedule()
      })
  }

  return (parameters) => {
    const key = keyOf(parameters)
    let mine = waiting.get(key)
    if (!mine) {
      mine = { ...Promise.withResolvers<Result>(), parameters }
      waiting.set(key, mine)
      schedule()
    }
    return mine.promise
  }
}
