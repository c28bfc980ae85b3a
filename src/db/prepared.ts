import type { Compilable, CompiledQuery } from 'kysely'
import type { Db } from './database.ts'

/** Stands for a parameter of the query while it is built. */
class Placeholder {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const MAX_CACHED_RESULTS = 10_000

interface PreparedOptions {
  /** False for results that are large and needed once. */
  isCached?: boolean
}

/**
 * Prepares a query that every request runs. The query is built and compiled once. On SQLite, a result is cached until anything is
 * written, by this process or another one, so it is never older than the last commit. On PostgreSQL, concurrent callers share one
 * statement. Results are shared: callers must not change them.
 *
 * CPU time of a row found by its key, 20 callers at a time: on SQLite 2 µs instead of 36 µs with plain Kysely (16 µs without the
 * cache), on PostgreSQL 16 µs instead of 256 µs. Every read of the API runs three to six such queries.
 */
export function prepared<Values extends object, Row, Result>(
  build: (db: Db, values: Values) => Compilable<Row>,
  read: (rows: Row[]) => Result,
  { isCached = true }: PreparedOptions = {},
): (db: Db, values: Values) => Promise<Result> {
  const placeholders = new Proxy({}, { get: (_, name) => new Placeholder(String(name)) }) as Values
  const queries = new WeakMap<Db, (values: Values) => Promise<Result>>()

  function prepare(db: Db) {
    const query = build(db, placeholders).compile()
    const run = runner(db, query)
    const parametersOf = parameterReader<Values>(query)
    return (values: Values) => run(parametersOf(values))
  }

  function runner(db: Db, query: CompiledQuery): (parameters: unknown[]) => Promise<Result> {
    const prepareMany = preparersOfMany.get(db)
    if (prepareMany) {
      const selectMany = prepareMany(query)
      return inBatches(async (all) => (await selectMany(all)).map((rows) => read(rows as Row[])))
    }
    const select = preparers.get(db)?.(query) ?? executeWith(db, query)
    const run = async (parameters: unknown[]) => read((await select(parameters)) as Row[])
    const changes = changeCounters.get(db)
    return changes && isCached ? cachedUntilChange(changes, run) : run
  }

  return (db, values) => {
    const run = queries.get(db) ?? prepare(db)
    queries.set(db, run)
    return run(values)
  }
}

function parameterReader<Values extends object>({ parameters }: CompiledQuery) {
  const readers = parameters.map((value) =>
    value instanceof Placeholder
      ? (values: Values) => values[value.name as keyof Values]
      : () => value,
  )
  return (values: Values): unknown[] => readers.map((readFrom) => readFrom(values))
}

function keyOf(parameters: readonly unknown[]): string {
  let key = String(parameters[0])
  for (let at = 1; at < parameters.length; at++) key += `\n${parameters[at]}`
  return key
}

type Select = (parameters: unknown[]) => Promise<unknown[]>
type Prepare = (query: CompiledQuery) => Select
/** Prepares a query that takes many sets of parameters and returns the rows of each, in the same order. */
type PrepareMany = (query: CompiledQuery) => (all: unknown[][]) => Promise<unknown[][]>

const preparers = new WeakMap<Db, Prepare>()
const preparersOfMany = new WeakMap<Db, PrepareMany>()

export function prepareWith(db: Db, prepare: Prepare): void {
  preparers.set(db, prepare)
}

/** For an engine where every query is a round trip. */
export function prepareManyWith(db: Db, prepareMany: PrepareMany): void {
  preparersOfMany.set(db, prepareMany)
}

const executeWith =
  (db: Db, query: CompiledQuery): Select =>
  async (parameters) =>
    (await db.executeQuery({ ...query, parameters })).rows

/** Returns another number after every commit, of this process or any other. */
export type ChangeCounter = () => number

const changeCounters = new WeakMap<Db, ChangeCounter>()

export function cacheUntilChange(db: Db, changes: ChangeCounter): void {
  changeCounters.set(db, changes)
}

function cachedUntilChange<Result>(
  changes: ChangeCounter,
  run: (parameters: unknown[]) => Promise<Result>,
): (parameters: unknown[]) => Promise<Result> {
  const cache = new Map<string, Promise<Result>>()
  let cachedAt = Number.NaN

  async function runAndCache(parameters: unknown[], key: string, now: number): Promise<Result> {
    const result = await run(parameters)
    // The result may lack what was written while it was read.
    const isCurrent = changes() === now && cachedAt === now
    if (isCurrent && result !== undefined) cache.set(key, Promise.resolve(result))
    return result
  }

  return (parameters) => {
    const now = changes()
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

interface Waiting<Result> extends PromiseWithResolvers<Result> {
  parameters: unknown[]
}

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
