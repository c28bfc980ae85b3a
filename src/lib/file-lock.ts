import { DatabaseSync } from 'node:sqlite'

/** Held here so that no handle is ever collected: collecting it would let go of the lock. */
const held = new Set<DatabaseSync>()
const BUSY = 5

/**
 * Node has no flock; an exclusive transaction on a file of its own is a lock that the kernel releases however the process
 * ends. Returns the function that lets go; undefined where somebody else has it.
 */
export function lockFile(file: string): (() => void) | undefined {
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // Nothing is ever written, so no file is needed to undo it from.
    lock.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === BUSY) return undefined
    throw error
  }
  held.add(lock)
  return () => {
    if (held.delete(lock)) lock.close()
  }
}
