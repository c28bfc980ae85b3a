import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { S3 } from '@aws-sdk/client-s3'
import { startObjectStore } from '../test/support/radosgw-cluster.ts'
import { CORPORA, makeCorpus, OWNER } from './corpus.ts'
import { has, inEmptyDirectory } from './measure.ts'
import { memoryOf } from './process.ts'
import { startService } from './service.ts'

const SETTLING_MS = 5000

export interface ExportMemory {
  /** Megabytes. */
  peak: number
  atRest: number
}

/**
 * Measures the peak memory of `godwit serve` during exports of packs with several parts each, and its memory
 * some time later.
 */
export async function exportMemory(flags: readonly string[] = []): Promise<ExportMemory> {
  const repositories = await makeCorpus('packs')
  const [{ name, count }] = CORPORA.packs as [(typeof CORPORA.packs)[0]]
  const names = Array.from({ length: count }, (_, index) => `${name}-${index + 1}`)
  return inEmptyDirectory(async (directory) => {
    const data = join(directory, 'data')
    const godwit = await startService({ repositories, data, login: OWNER }, ...flags)
    try {
      await godwit.untilExported(await godwit.start(names))
      await sleep(SETTLING_MS)
      return { peak: await godwit.peakMemory(), atRest: await memoryOf(godwit.pid, 'VmRSS') }
    } finally {
      await godwit.stop()
    }
  })
}

/** Returns undefined where Ceph is not installed. `flagsOfNewStore` returns the flags of a store that no database uses yet. */
export async function withBucket<T>(
  act: (flagsOfNewStore: () => string[]) => Promise<T>,
): Promise<T | undefined> {
  if (!(await has('radosgw'))) return undefined
  const store = await startObjectStore()
  try {
    process.env.AWS_ENDPOINT_URL = store.endpoint
    process.env.AWS_REGION = 'us-east-1'
    process.env.AWS_ACCESS_KEY_ID = store.accessKeyId
    process.env.AWS_SECRET_ACCESS_KEY = store.secretAccessKey
    const bucket = `bench-${randomBytes(8).toString('hex')}`
    const s3 = new S3({ endpoint: store.endpoint, forcePathStyle: true })
    await s3.createBucket({ Bucket: bucket })
    s3.destroy()
    return await act(() => ['--blobs', `s3://${bucket}/${randomBytes(8).toString('hex')}`])
  } finally {
    await store.stop()
  }
}
