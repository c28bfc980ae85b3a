import { DatabaseSync } from 'node:sqlite'

/** References the handles, because garbage collection of a handle would release its lock. */
const held = new Set<DatabaseSync>()
const SQLITE_BUSY = 5

/**
 * Locks a file. Returns the function that releases the lock, or undefined if another process holds it. Node has no flock: the lock
 * is an exclusive SQLite transaction, which the kernel releases however the process ends.
 */
export function lockFile(file: string): (() => void) | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // Nothing is written, so the journal need not be a file.
    lock.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw error
  }
  held.add(lock)
  return () => {
    if (held.delete(lock)) lock.close()
  }
}
