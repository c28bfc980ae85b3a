import { parentPort, workerData } from 'node:worker_threads'
import { type ExportPlaces, openBlobs, openSource } from '../src/commands/export-places.ts'
import { createSegmentMaker } from '../src/exporter/make-segment.ts'
import { answerRequests } from '../src/exporter/segment-messages.ts'

/** A segment thread that believes what it reads: what is left is reading, hashing and writing. */
const places = workerData as ExportPlaces
const source = openSource(places)
const maker = createSegmentMaker({
  source: {
    ...source,
    verify: async () => ({ repository: { tips: [], objectFiles: [] }, wiki: null }),
  },
  blobs: await openBlobs(places),
  scratchDirectory: places.scratch,
})
answerRequests(parentPort!, maker)
