import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { S3 } from '@aws-sdk/client-s3'
import { startObjectStore } from '../test/support/radosgw-cluster.ts'
import { Cleanup, exportBy, namesIn, type Scene, startApi } from './cluster-figures.ts'
import { makeCorpus, OWNER } from './corpus.ts'
import { inEmptyDirectory, shell } from './measure.ts'
import { memoryOf } from './process.ts'
import { startService } from './service.ts'

/** Returns the peak memory in MB of `godwit serve` during exports of packs with several parts each. */
export async function exportPeak(flags: readonly string[] = []): Promise<number> {
  const repositories = await makeCorpus('packs')
  const names = await namesIn(repositories)
  return inEmptyDirectory(async (directory) => {
    const data = join(directory, 'data')
    const godwit = await startService({ repositories, data, login: OWNER }, ...flags)
    try {
      await godwit.untilExported(await godwit.start(names))
      return await godwit.peakMemory()
    } finally {
      await godwit.stop()
    }
  })
}

const STARTS = 2
const EXPORTS_PER_START = 2

/**
 * Returns the peak memory in MB of `godwit work`, threads included, while it exports repositories as they are in use.
 * Between the exports all of them are pushed to, and the worker is restarted.
 */
export async function workerPeak(scene: Omit<Scene, 'corpus'>): Promise<number> {
  return inEmptyDirectory(async (directory) => {
    const corpus = join(directory, 'repositories')
    await cp(await makeCorpus('lively'), corpus, { recursive: true })
    const names = await namesIn(corpus)
    await using cleanup = new Cleanup()
    const started = await startApi(cleanup, { ...scene, corpus })
    let peak = 0
    for (let start = 1; start <= STARTS; start += 1) {
      const worker = await started.cluster.worker()
      for (let round = 1; round <= EXPORTS_PER_START; round += 1) {
        await exportBy(started, names)
        await shell(PUSH_TO_ALL, join(corpus, OWNER))
      }
      peak = Math.max(peak, await memoryOf(worker.process.pid!, 'VmHWM'))
      await worker.kill('SIGTERM')
    }
    return peak
  })
}

/** Adds a commit to each repository in the directory `$1`. */
const PUSH_TO_ALL = `
  export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.com
  export GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.com
  for repository in "$1"/*.git; do
    cd "$repository"
    git update-ref refs/heads/main "$(git commit-tree -p main -m More 'main^{tree}')"
  done`

/**
 * Runs `act` with the flags of a bucket in a new object store, which is in memory. A store that many exports shared would
 * fill up, and Ceph then leaves every write waiting.
 */
export async function withBucket<T>(act: (flags: string[]) => Promise<T>): Promise<T> {
  const store = await startObjectStore()
  try {
    process.env.AWS_ENDPOINT_URL = store.endpoint
    process.env.AWS_REGION = 'us-east-1'
    process.env.AWS_ACCESS_KEY_ID = store.accessKeyId
    process.env.AWS_SECRET_ACCESS_KEY = store.secretAccessKey
    const s3 = new S3({ endpoint: store.endpoint, forcePathStyle: true })
    await s3.createBucket({ Bucket: 'bench' })
    s3.destroy()
    return await act(['--blobs', 's3://bench/godwit'])
  } finally {
    await store.stop()
  }
}
