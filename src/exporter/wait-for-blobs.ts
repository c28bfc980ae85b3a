import { BlobsAway } from '../blobs/blob-store.ts'
import { type Handler, NotNow } from '../queue/queue.ts'

/** While the store is away its jobs wait: an outage, however long, fails no migration. */
export function waitForBlobs(run: Handler['run']): Handler['run'] {
  return async (job, at) => {
    try {
      await run(job, at)
    } catch (error) {
      throw error instanceof BlobsAway ? new NotNow(error.message, { cause: error }) : error
    }
  }
}
