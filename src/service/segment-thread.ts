import { parentPort, workerData } from 'node:worker_threads'
import { watchErrors } from '../blobs/watch-errors.ts'
import {
  createSegmentMaker,
  type SegmentReply,
  serveSegmentRequests,
} from '../exporter/make-segment.ts'
import { type DataPaths, openBlobs, openSource } from './data-paths.ts'

/** What a segment thread runs: parts of its own, built from the same settings. */
const places = workerData as DataPaths
const { scratch: scratchDirectory } = places
const maker = createSegmentMaker({
  source: openSource(places),
  blobs: watchErrors(await openBlobs(places), (blobError) =>
    parentPort!.postMessage({ blobError } satisfies SegmentReply),
  ),
  scratchDirectory,
})
serveSegmentRequests(parentPort!, maker)
