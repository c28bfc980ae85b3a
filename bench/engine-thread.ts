import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import type { Snapshot, SnapshotEntry } from '../packages/git/src/snapshot.ts'
import {
  createSegmentMaker,
  serveSegmentRequests,
} from '../packages/server/src/exporter/make-segment.ts'
import { type DataPaths, openBlobs, openSource } from '../packages/server/src/service/data-paths.ts'

/** A segment thread that does not verify what it reads: only reading, hashing and writing remain. */
const places = workerData as DataPaths
const source = openSource(places)
const maker = createSegmentMaker({
  source: {
    ...source,
    snapshot: async (...args) => believed(await source.snapshot(...args)),
  },
  blobs: await openBlobs(places.blobs),
  scratchDirectory: places.scratch,
})
serveSegmentRequests(parentPort!, maker)

/** Lists the objects as they are on disk, without computing git's checksums. */
function believed(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    verify: async () => ({ repository: { tips: [], objectFiles: [] }, wiki: null }),
    *entries() {
      for (const entry of snapshot.entries())
        yield entry.packed ? { ...entry, open: () => bytesOf(fileOf(snapshot, entry)) } : entry
    },
  }
}

function fileOf({ repository, wiki }: Snapshot, { path }: SnapshotEntry): string {
  const [, , folder, ...rest] = path.split('/')
  const isOfWiki = wiki !== null && folder!.endsWith('.wiki.git')
  return join(isOfWiki ? wiki.dir : repository.dir, ...rest)
}

const chunk = Buffer.allocUnsafeSlow(1024 * 1024)

async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  await using handle = await open(file)
  for (;;) {
    const { bytesRead } = await handle.read(chunk)
    if (bytesRead === 0) return
    yield chunk.subarray(0, bytesRead)
  }
}
