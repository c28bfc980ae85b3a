import { parentPort, workerData } from 'node:worker_threads'
import { watchErrors } from '../blobs/watch-errors.ts'
import {
  createSegmentMaker,
  type SegmentReply,
  serveSegmentRequests,
} from '../exporter/make-segment.ts'
import { type DataPaths, openBlobs, openSource } from './data-paths.ts'

/** The main module of a segment thread. It opens its own source and store with the settings of the process. */
const paths = workerData as DataPaths
const { scratch: scratchDirectory } = paths
const maker = createSegmentMaker({
  source: openSource(paths),
  blobs: watchErrors(await openBlobs(paths.blobs), (blobError) =>
    parentPort!.postMessage({ blobError } satisfies SegmentReply),
  ),
  scratchDirectory,
})
serveSegmentRequests(parentPort!, maker)
