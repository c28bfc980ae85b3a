import { lstat, rm } from 'node:fs/promises'
import { hasCode } from '../../../ground/errno.ts'
import { lockFile } from '../../../ground/file-lock.ts'
import { Unreadable } from '../../unreadable.ts'

const SQLITE_CANTOPEN = 14
/** SQLite opens no file by a longer path. */
const LONGEST_PATH_BYTES = 511

export const isTooLong = (path: string): boolean => Buffer.byteLength(path) > LONGEST_PATH_BYTES

/** Disposing of it takes the file away, and then lets go of it. */
export type SignOfLife = AsyncDisposable

/**
 * Holds a file by a lock that the kernel releases however the process ends, and on a shared file system the server when the
 * machine is lost. Whoever gets hold of another's file knows that the other is dead. Undefined where the file is held, or
 * was taken away in the same instant.
 */
export async function holdSign(path: string): Promise<SignOfLife | undefined> {
  const letGo = lockOrRefuse(path)
  if (!letGo) return undefined
  try {
    await lstat(path)
  } catch (error) {
    letGo()
    // Held, but no longer by this name: it was taken for a dead one's between being made and being held.
    if (hasCode(error, 'ENOENT')) return undefined
    throw error
  }
  return { [Symbol.asyncDispose]: () => rm(path, { force: true }).finally(letGo) }
}

function lockOrRefuse(path: string): (() => void) | undefined {
  try {
    return lockFile(path)
  } catch (error) {
    const { errcode } = error as { errcode?: number }
    if (errcode === undefined) throw error
    const isClosed = (errcode & 0xff) === SQLITE_CANTOPEN
    const reason = isClosed
      ? 'its directory cannot be written to'
      : 'its file system does not support file locks'
    throw new Unreadable(reason, { cause: error })
  }
}
