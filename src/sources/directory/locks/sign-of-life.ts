import { lstat, rm } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { hasCode } from '../../../ground/errno.ts'
import { Unreadable } from '../../unreadable.ts'

const SQLITE_BUSY = 5
/** SQLite opens no file by a longer path. */
const LONGEST_PATH_BYTES = 511

export const isTooLong = (path: string): boolean => Buffer.byteLength(path) > LONGEST_PATH_BYTES

/** Held here so that no handle is ever collected: collecting it would let go of the lock. */
const held = new Set<DatabaseSync>()

/** Disposing of it takes the file away, and then lets go of it. */
export type SignOfLife = AsyncDisposable

/**
 * Holds a file by a lock that the kernel releases however the process ends, and on a shared file system the server when the
 * machine is lost. Node has no flock; an exclusive transaction on an empty file is such a lock. Whoever gets hold of another's
 * file knows that the other is dead. Undefined where the file is held, or was taken away in the same instant.
 */
export async function holdSign(path: string): Promise<SignOfLife | undefined> {
  const lock = openFile(path)
  try {
    // Nothing is ever written, so there is nothing to roll back and no journal to leave behind.
    lock.exec('pragma journal_mode = memory; begin exclusive')
    // Held, but no longer by this name: it was taken for a dead one's between being made and being held.
    await lstat(path)
  } catch (error) {
    lock.close()
    const { errcode } = error as { errcode?: number }
    if (errcode === SQLITE_BUSY || hasCode(error, 'ENOENT')) return undefined
    if (errcode === undefined) throw error
    throw new Unreadable('its file system knows no file locks', { cause: error })
  }
  held.add(lock)
  return {
    async [Symbol.asyncDispose]() {
      await rm(path, { force: true }).finally(() => {
        held.delete(lock)
        lock.close()
      })
    },
  }
}

function openFile(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: 0 })
  } catch (error) {
    throw new Unreadable('its directory cannot be written to', { cause: error })
  }
}
