import type { BlobOperation } from '../blobs/watch-errors.ts'
import type { Db } from '../db/database.ts'
import { repeatedly } from '../lib/repeatedly.ts'
import { addBlobErrors } from '../migrations/tally-store.ts'
import type { Log } from './log.ts'

const WRITTEN_EVERY_MS = 5000

/** Counts what fails at the store in this process, and now and then adds it to what all have counted. */
export function countBlobErrors(
  db: Db,
  log: Log['log'],
  stack: AsyncDisposableStack,
): (operation: BlobOperation) => void {
  let counts = new Map<string, number>()
  const count = (operation: string, more = 1) =>
    counts.set(operation, (counts.get(operation) ?? 0) + more)

  async function write(): Promise<void> {
    if (counts.size === 0) return
    const written = counts
    counts = new Map()
    try {
      await addBlobErrors(db, written)
    } catch (error) {
      for (const [operation, failed] of written) count(operation, failed)
      throw error
    }
  }

  const onFailure = (err: unknown) => log.warn({ err }, 'could not record errors of the blob store')
  stack.defer(() => write().catch(onFailure))
  const writing = repeatedly(write, WRITTEN_EVERY_MS, onFailure)
  stack.defer(writing.stop)
  return (operation) => count(operation)
}
