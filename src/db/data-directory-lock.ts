import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { makeDirectory } from '../ground/make-directory.ts'

export class DataDirectoryInUse extends Error {
  override name = 'DataDirectoryInUse'
  constructor(dataDirectory: string) {
    super(
      `another Godwit server is already running on the data directory ${dataDirectory}: stop it, or give another --data`,
    )
  }
}

/** Held here so that no handle is ever collected: collecting it would let go of the lock. */
const held = new Set<DatabaseSync>()

/**
 * One server per data directory. Node has no flock; an exclusive transaction on a file of its own is a lock that the
 * kernel releases however the process ends. Returns the function that lets go.
 */
export function lockDataDirectory(dataDirectory: string): () => void {
  makeDirectory(dataDirectory, 0o700)
  const lock = new DatabaseSync(join(dataDirectory, 'server.lock'), { timeout: 0 })
  try {
    lock.exec('begin exclusive')
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === 5) throw new DataDirectoryInUse(dataDirectory)
    throw error
  }
  held.add(lock)
  return () => {
    if (held.delete(lock)) lock.close()
  }
}
