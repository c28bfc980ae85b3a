import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import type { RepositoryName } from '../packages/hosts/src/source.ts'
import { mapConcurrent } from '../packages/lib/src/turns.ts'
import { createSegmentThreads } from '../packages/server/src/exporter/segment-threads.ts'
import type { DataPaths } from '../packages/server/src/service/data-paths.ts'

/** Makes the segments of all repositories: no service, no database, no connectivity check. */
export async function makeSegments(
  root: string,
  repositories: readonly RepositoryName[],
  data: string,
): Promise<void> {
  const places: DataPaths = {
    root,
    git: {
      program: 'git',
      searchPath: process.env.PATH ?? '/usr/bin:/bin',
      home: join(data, 'git-home'),
    },
    cloneUrl: 'https://git.example.test/{owner}/{name}.git',
    blobs: join(data, 'blobs'),
    scratch: join(data, 'scratch'),
  }
  await mkdir(places.scratch, { recursive: true })
  const count = availableParallelism()
  const module = new URL('./engine-thread.ts', import.meta.url)
  const threads = createSegmentThreads({ module, workerData: places, count })
  const { signal } = new AbortController()
  await mapConcurrent(repositories, { concurrency: count, signal }, (repository, stop) =>
    threads
      .make(
        { repository, key: randomUUID(), lastVerified: undefined, storedFingerprints: [] },
        stop,
        () => {},
      )
      .then(() => undefined),
  )
  await threads.stop()
}
