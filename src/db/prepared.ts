import type { Compilable, CompiledQuery } from 'kysely'
import type { Db } from './database.ts'

/** Stands in for a value that every run brings anew. */
class Hole {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const MAX_REMEMBERED = 10_000

interface PreparedOptions {
  /** False for what is large and asked for once. */
  isRemembered?: boolean
}

/**
 * A question that every request asks. Its query is built and compiled once: doing so each time costs several times what
 * the engine needs to answer. Where the engine can say whether anything at all has been written since, by whomever, an
 * answer is taken again for as long as nothing has, so it is never older than the last commit. Elsewhere those who ask
 * in the same moment are answered together. Answers are shared: whoever gets one must not change it.
 */
export function prepared<Values extends object, Row, Answer>(
  build: (db: Db, holes: Values) => Compilable<Row>,
  read: (rows: Row[]) => Answer,
  { isRemembered = true }: PreparedOptions = {},
): (db: Db, values: Values) => Promise<Answer> {
  const holes = new Proxy({}, { get: (_, name) => new Hole(String(name)) }) as Values
  const questions = new WeakMap<Db, (values: Values) => Promise<Answer>>()

  function questionOf(db: Db) {
    const query = build(db, holes).compile()
    const answer = answering(db, query)
    const parametersOf = fillingOf(query)
    return (values: Values) => answer(parametersOf(values))
  }

  function answering(db: Db, query: CompiledQuery): (parameters: unknown[]) => Promise<Answer> {
    const prepareMany = preparersOfMany.get(db)
    if (prepareMany) {
      const selectInBatches = prepareMany(query)
      return together(async (all) =>
        (await selectInBatches(all)).map((rows) => read(rows as Row[])),
      )
    }
    const rowsOf = preparers.get(db)?.(query) ?? inTurn(db, query)
    const ask = async (parameters: unknown[]) => read((await rowsOf(parameters)) as Row[])
    const changes = countersOfChanges.get(db)
    return changes && isRemembered ? whileUnchanged(changes, ask) : ask
  }

  return (db, values) => {
    const question = questions.get(db) ?? questionOf(db)
    questions.set(db, question)
    return question(values)
  }
}

function fillingOf<Values extends object>({ parameters }: CompiledQuery) {
  const given = parameters.map((value) =>
    value instanceof Hole ? (values: Values) => values[value.name as keyof Values] : () => value,
  )
  return (values: Values): unknown[] => given.map((of) => of(values))
}

function keyOf(parameters: readonly unknown[]): string {
  let key = String(parameters[0])
  for (let at = 1; at < parameters.length; at++) key += `\n${parameters[at]}`
  return key
}

type RowsOf = (parameters: unknown[]) => Promise<unknown[]>
/** How an engine is asked the same query again and again. */
type Prepare = (query: CompiledQuery) => RowsOf
/** The same with many sets of parameters at once; rows for each of them, in turn. */
type PrepareMany = (query: CompiledQuery) => (all: unknown[][]) => Promise<unknown[][]>

const preparers = new WeakMap<Db, Prepare>()
const preparersOfMany = new WeakMap<Db, PrepareMany>()

export function prepareWith(db: Db, prepare: Prepare): void {
  preparers.set(db, prepare)
}

/** For an engine that every question is a round trip to. */
export function prepareManyWith(db: Db, prepareMany: PrepareMany): void {
  preparersOfMany.set(db, prepareMany)
}

const inTurn =
  (db: Db, query: CompiledQuery): RowsOf =>
  async (parameters) =>
    (await db.executeQuery({ ...query, parameters })).rows

/** A number that is another one after every commit, of this process or any other. */
export type ChangeCounter = () => number

const countersOfChanges = new WeakMap<Db, ChangeCounter>()

export function cacheUntilChange(db: Db, changes: ChangeCounter): void {
  countersOfChanges.set(db, changes)
}

function whileUnchanged<Answer>(
  changes: ChangeCounter,
  ask: (parameters: unknown[]) => Promise<Answer>,
): (parameters: unknown[]) => Promise<Answer> {
  const remembered = new Map<string, Promise<Answer>>()
  let rememberedAt = Number.NaN

  async function askAnew(parameters: unknown[], key: string, now: number): Promise<Answer> {
    const answer = await ask(parameters)
    // What was written while it was read may be missing in it.
    const isCurrent = changes() === now && rememberedAt === now
    if (isCurrent && answer !== undefined) remembered.set(key, Promise.resolve(answer))
    return answer
  }

  return (parameters) => {
    const now = changes()
    if (now !== rememberedAt || remembered.size > MAX_REMEMBERED) {
      remembered.clear()
      rememberedAt = now
    }
    const key = keyOf(parameters)
    return remembered.get(key) ?? askAnew(parameters, key, now)
  }
}

/** At a time, for one question: one that hangs must not hold up the others. */
const MAX_UNDER_WAY = 3

interface Waiting<Answer> extends PromiseWithResolvers<Answer> {
  parameters: unknown[]
}

/**
 * One query for all who ask in the same moment, or while others are being asked. Nobody joins a query that is under way: theirs
 * is asked after they came, and so holds everything that was committed by then.
 */
function together<Answer>(
  ask: (all: unknown[][]) => Promise<Answer[]>,
): (parameters: unknown[]) => Promise<Answer> {
  let waiting = new Map<string, Waiting<Answer>>()
  let isDue = false
  let underWay = 0

  function askSoon(): void {
    if (isDue || underWay >= MAX_UNDER_WAY || waiting.size === 0) return
    isDue = true
    // When all that came with it has been read.
    setImmediate(askAll)
  }

  function askAll(): void {
    isDue = false
    underWay++
    const all = [...waiting.values()]
    waiting = new Map()
    ask(all.map(({ parameters }) => parameters))
      .then(
        (answers) => {
          for (const [at, { resolve }] of all.entries()) resolve(answers[at]!)
        },
        (error: unknown) => {
          for (const { reject } of all) reject(error)
        },
      )
      .finally(() => {
        underWay--
        askSoon()
      })
  }

  return (parameters) => {
    const key = keyOf(parameters)
    let mine = waiting.get(key)
    if (!mine) {
      mine = { ...Promise.withResolvers<Answer>(), parameters }
      waiting.set(key, mine)
      askSoon()
    }
    return mine.promise
  }
}
