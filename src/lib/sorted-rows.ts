import { DatabaseSync } from 'node:sqlite'
import { addDiskFacts } from './disk-errors.ts'

/** Sorts rows in a file, so that memory does not grow with their number. A shelf is a named group of rows. */
export interface SortedRows extends Disposable {
  /** `at` orders the rows of a key; rows with equal `at` keep the order in which they were added. */
  add(shelf: string, key: number, at: number, value: unknown): void
  /** Iterates all rows of a shelf by key, then by `at`. Nothing may be added meanwhile. */
  all<T>(shelf: string): Iterable<[key: number, value: T]>
  of<T>(shelf: string, key: number): T[]
  has(shelf: string, key: number): boolean
  count(shelf: string): number
  /** Returns the largest `at` of a key, or undefined if it has no rows. */
  newest(shelf: string, key: number): number | undefined
}

/** `file` must not exist yet. The caller deletes it with its directory. */
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
