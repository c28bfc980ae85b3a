import type { Compilable, CompiledQuery } from 'kysely'
import type { Db } from './database.ts'

/** Stands in for a value that every run brings anew. */
class Hole {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
}

const MOST_REMEMBERED = 10_000

/**
 * A question that every request asks. Its query is built and compiled once: doing so each time costs several times what
 * the engine needs to answer. Where the engine can say whether anything at all has been written since, by whomever, an
 * answer is taken again for as long as nothing has, so it is never older than the last commit. Elsewhere those who ask the
 * same while the engine is busy with it are answered together. Answers are shared: whoever gets one must not change it.
 */
export function prepared<Values extends object, Row, Answer>(
  build: (db: Db, holes: Values) => Compilable<Row>,
  read: (rows: Row[]) => Answer,
): (db: Db, values: Values) => Promise<Answer> {
  const holes = new Proxy({}, { get: (_, name) => new Hole(String(name)) }) as Values
  const questions = new WeakMap<Db, (values: Values) => Promise<Answer>>()

  function questionOf(db: Db) {
    const query = build(db, holes).compile()
    const prepare = preparers.get(db) ?? inTurn(db)
    const rowsOf = prepare(query)
    const ask = async (parameters: unknown[]) => read((await rowsOf(parameters)) as Row[])
    const changes = countersOfChanges.get(db)
    const answer = changes ? whileUnchanged(changes, ask) : together(ask)
    return (values: Values) => answer(parametersOf(query, values))
  }

  return (db, values) => {
    const question = questions.get(db) ?? questionOf(db)
    questions.set(db, question)
    return question(values)
  }
}

function parametersOf(query: CompiledQuery, values: object): unknown[] {
  return query.parameters.map((value) =>
    value instanceof Hole ? values[value.name as keyof typeof values] : value,
  )
}

type RowsOf = (parameters: unknown[]) => Promise<unknown[]>
/** How an engine is asked the same query again and again. */
type Prepare = (query: CompiledQuery) => RowsOf

const preparers = new WeakMap<Db, Prepare>()

/** For an engine that keeps the plan of a query. */
export function prepareWith(db: Db, prepare: Prepare): void {
  preparers.set(db, prepare)
}

const inTurn =
  (db: Db): Prepare =>
  (query) =>
  async (parameters) =>
    (await db.executeQuery({ ...query, parameters })).rows

/** A number that is another one after every commit, of this process or any other. */
export type ChangeCounter = () => number

const countersOfChanges = new WeakMap<Db, ChangeCounter>()

export function rememberWhileUnchanged(db: Db, changes: ChangeCounter): void {
  let count: number | undefined
  const forget = () => {
    count = undefined
  }
  countersOfChanges.set(db, () => {
    if (count !== undefined) return count
    // Within one uninterrupted run nobody here can write, so what it asks for it asks at one moment.
    queueMicrotask(forget)
    count = changes()
    return count
  })
}

function whileUnchanged<Answer>(
  changes: ChangeCounter,
  ask: (parameters: unknown[]) => Promise<Answer>,
): (parameters: unknown[]) => Promise<Answer> {
  const remembered = new Map<string, Answer>()
  let rememberedAt = Number.NaN
  return async (parameters) => {
    const now = changes()
    if (now !== rememberedAt || remembered.size > MOST_REMEMBERED) {
      remembered.clear()
      rememberedAt = now
    }
    const key = parameters.join('\n')
    const known = remembered.get(key)
    if (known !== undefined) return known
    const answer = await ask(parameters)
    // What was written while it was read may be missing in it.
    if (changes() === now && rememberedAt === now) remembered.set(key, answer)
    return answer
  }
}

/**
 * Who comes while the same is being asked waits for the next answer, not for this one: that is asked after they came, and
 * so holds everything that was committed by then.
 */
function together<Answer>(
  ask: (parameters: unknown[]) => Promise<Answer>,
): (parameters: unknown[]) => Promise<Answer> {
  interface Asked {
    ended: Promise<void>
    next?: Promise<Answer>
  }
  const underWay = new Map<string, Asked>()

  function begin(key: string, parameters: unknown[]): Promise<Answer> {
    const answer = ask(parameters)
    const end = () => {
      if (!asked.next) underWay.delete(key)
    }
    const asked: Asked = { ended: answer.then(end, end) }
    underWay.set(key, asked)
    return answer
  }

  return (parameters) => {
    const key = parameters.join('\n')
    const asked = underWay.get(key)
    if (!asked) return begin(key, parameters)
    asked.next ??= asked.ended.then(() => begin(key, parameters))
    return asked.next
  }
}
