import { DatabaseSync } from 'node:sqlite'
import { addDiskFacts } from './disk-errors.ts'

/** Rows that come in any order and are wanted in order, kept in a file: memory does not grow with them. */
export interface SortedRows extends Disposable {
  /** `at` orders the rows of a key; what comes at the same time keeps the order in which it came. */
  add(shelf: string, key: number, at: number, value: unknown): void
  /** All rows of a shelf by key, then by time. Nothing may be added meanwhile. */
  all<T>(shelf: string): Iterable<[key: number, value: T]>
  of<T>(shelf: string, key: number): T[]
  has(shelf: string, key: number): boolean
  count(shelf: string): number
  /** The time of a key's newest row; undefined where it has none. */
  newest(shelf: string, key: number): number | undefined
}

/** `file` must not be there yet. It is of no use to anybody later: whoever made its directory removes it. */
export function sortedRows(file: string): SortedRows {
  const db = new DatabaseSync(file)
  db.exec(
    `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384;
     CREATE TABLE rows (
       shelf INTEGER, key INTEGER, at INTEGER, arrival INTEGER, value TEXT, PRIMARY KEY (shelf, key, at, arrival)
     ) WITHOUT ROWID;
     BEGIN`,
  )
  const insert = db.prepare('INSERT INTO rows VALUES (?, ?, ?, ?, ?)')
  const every = db.prepare('SELECT key, value FROM rows WHERE shelf = ? ORDER BY key, at, arrival')
  const some = db.prepare('SELECT value FROM rows WHERE shelf = ? AND key = ? ORDER BY at, arrival')
  const one = db.prepare('SELECT max(at) AS newest FROM rows WHERE shelf = ? AND key = ?')
  const counted = db.prepare('SELECT count(*) AS count FROM rows WHERE shelf = ?')
  const shelves = new Map<string, number>()
  let arrivals = 0

  function numberOf(shelf: string): number {
    const known = shelves.get(shelf)
    if (known !== undefined) return known
    shelves.set(shelf, shelves.size)
    return shelves.size - 1
  }

  function newest(shelf: string, key: number): number | undefined {
    return (one.get(numberOf(shelf), key) as { newest: number | null }).newest ?? undefined
  }

  return {
    add(shelf, key, at, value) {
      try {
        insert.run(numberOf(shelf), key, at, arrivals++, JSON.stringify(value))
      } catch (error) {
        throw addDiskFacts(error, file)
      }
    },
    *all<T>(shelf: string) {
      for (const { key, value } of every.iterate(numberOf(shelf)))
        yield [Number(key), JSON.parse(String(value)) as T] as [number, T]
    },
    of: <T>(shelf: string, key: number) =>
      some.all(numberOf(shelf), key).map(({ value }) => JSON.parse(String(value)) as T),
    has: (shelf, key) => newest(shelf, key) !== undefined,
    count: (shelf) => Number(counted.get(numberOf(shelf))?.count),
    newest,
    [Symbol.dispose]: () => db.close(),
  }
}
