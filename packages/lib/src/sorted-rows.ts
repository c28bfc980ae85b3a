import { DatabaseSync } from 'node:sqlite'
import { addDiskDetails } from './disk-errors.ts'

/** Sorts rows in a file, so that memory does not grow with their number. Each row belongs to a table and has a key. */
export interface SortedRows extends Disposable {
  /** Rows of a key are ordered by `at`, and rows with equal `at` in the order in which they were added. */
  add(table: string, key: number, at: number, value: unknown): void
  /** Iterates all rows of a table by key, then by `at`. Nothing may be added meanwhile. */
  all<T>(table: string): Iterable<[key: number, value: T]>
  of<T>(table: string, key: number): T[]
  has(table: string, key: number): boolean
  count(table: string): number
  /** Returns the largest `at` of a key, or undefined if it has no rows. */
  newest(table: string, key: number): number | undefined
}

/** `file` must not exist yet. The caller deletes it with its directory. */
export function sortedRows(file: string): SortedRows {
  const db = openEmpty(file)
  const insert = db.prepare('INSERT INTO rows VALUES (?, ?, ?, ?, ?)')
  const ofTable = 'FROM rows WHERE table_id = ?'
  const selectTable = db.prepare(`SELECT key, value ${ofTable} ORDER BY key, at, arrival`)
  const selectKey = db.prepare(`SELECT value ${ofTable} AND key = ? ORDER BY at, arrival`)
  const selectNewest = db.prepare(`SELECT max(at) AS newest ${ofTable} AND key = ?`)
  const countRows = db.prepare(`SELECT count(*) AS count ${ofTable}`)
  const tableIds = new Map<string, number>()
  let arrivals = 0

  const idOf = (table: string) => tableIds.getOrInsertComputed(table, () => tableIds.size)

  const newest = (table: string, key: number): number | undefined =>
    (selectNewest.get(idOf(table), key) as { newest: number | null }).newest ?? undefined

  return {
    add(table, key, at, value) {
      try {
        insert.run(idOf(table), key, at, arrivals++, JSON.stringify(value))
      } catch (error) {
        throw addDiskDetails(error, file)
      }
    },
    *all<T>(table: string) {
      for (const { key, value } of selectTable.iterate(idOf(table)))
        yield [Number(key), JSON.parse(String(value)) as T] as [number, T]
    },
    of: <T>(table: string, key: number) =>
      selectKey.all(idOf(table), key).map(({ value }) => JSON.parse(String(value)) as T),
    has: (table, key) => newest(table, key) !== undefined,
    count: (table) => Number(countRows.get(idOf(table))?.count),
    newest,
    [Symbol.dispose]: () => db.close(),
  }
}

function openEmpty(file: string): DatabaseSync {
  try {
    const db = new DatabaseSync(file)
    db.exec(
      `PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -16384;
       CREATE TABLE rows (
         table_id INTEGER, key INTEGER, at INTEGER, arrival INTEGER, value TEXT, PRIMARY KEY (table_id, key, at, arrival)
       ) WITHOUT ROWID;
       BEGIN`,
    )
    return db
  } catch (error) {
    throw addDiskDetails(error, file)
  }
}
