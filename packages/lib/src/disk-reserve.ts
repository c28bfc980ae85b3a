import { randomBytes } from 'node:crypto'
import { type FileHandle, open, rm, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { isDiskFull } from './disk-errors.ts'

/** Enough for the log of the database while it deletes the archive of some ten thousand repositories. */
const RESERVE_BYTES = 16 * 2 ** 20
/** The reserve is made only while at least so many bytes stay free beside it. */
const MIN_FREE_BYTES = 3 * RESERVE_BYTES
/** Random, because some file systems compress files. */
const CHUNK = randomBytes(2 ** 20)

/** Runs a change that frees space, also on a full disk. The change may run twice: what it wrote before it failed was rolled back. */
export type WithReserve = <T>(change: () => Promise<T>) => Promise<T>

export interface DiskReserve {
  withReserve: WithReserve
  /** Makes the reserve as large as it should be, if the disk has space for it. */
  refill(): Promise<void>
}

/**
 * A file that takes up space beside an embedded database. SQLite writes before it frees, so on a full disk nothing could be deleted.
 * A change that fails for lack of space is repeated without the file, which then takes up again what is left.
 */
export function diskReserve(directory: string): DiskReserve {
  const file = join(directory, 'reserve')
  let last: Promise<unknown> = Promise.resolve()

  /** Runs tasks one after the other: one that uses the reserve must not see that of another. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = last.then(task)
    last = result.catch(() => {})
    return result
  }

  async function take(): Promise<void> {
    await using handle = await open(file, 'a', 0o600)
    const { size } = await handle.stat()
    await writeBytes(handle, RESERVE_BYTES - size)
  }

  return {
    async withReserve(change) {
      try {
        return await change()
      } catch (error) {
        if (!isDiskFull(error)) throw error
        return inTurn(async () => {
          const isGivenUp = await rm(file).then(
            () => true,
            () => false,
          )
          if (!isGivenUp) throw error
          try {
            return await change()
          } finally {
            // It is smaller now, or the disk could not even hold the name of the file. `refill` corrects that later.
            await take().catch(() => {})
          }
        })
      }
    },

    refill: () =>
      inTurn(async () => {
        const { bavail, bsize } = await statfs(directory)
        if (bavail * bsize >= RESERVE_BYTES + MIN_FREE_BYTES) await take()
      }),
  }
}

/** Writes in small steps at the end, so that a full disk leaves little unused. */
async function writeBytes(handle: FileHandle, bytes: number): Promise<void> {
  let left = bytes
  for (let step = CHUNK.length; left > 0 && step >= 4096; ) {
    try {
      left -= (await handle.write(CHUNK, 0, Math.min(step, left))).bytesWritten
    } catch (error) {
      if (!isDiskFull(error)) throw error
      step /= 4
    }
  }
}
