import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createS3BlobStore } from '../../packages/server/src/blobs/s3.ts'
import { startCluster } from '../support/cluster.ts'
import {
  archiveLink,
  manyRepositories,
  post,
  untilEnded,
  verifyArchive,
  verifyBytes,
} from '../support/cluster-story.ts'
import { commandLine } from '../support/command-line.ts'
import { damageBlob, flipBit } from '../support/damage-blob.ts'
import { gitHost } from '../support/git-host.ts'
import { contentsOf, emptyBucket, envFor, flagsFor, needsObjectStore } from '../support/radosgw.ts'
import { incompressible } from '../support/sample-repositories.ts'
import { untilEnded as untilServiceEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

test(
  'archives are composed in the bucket and downloaded from there, or through the API',
  needsObjectStore,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    const names = await manyRepositories(host, 5)
    const bucket = await emptyBucket()
    const [repositories, env] = [host.root, envFor(bucket)]
    const flags = ['--concurrency', '1', ...flagsFor(bucket)]
    const cluster = await startCluster(t, { repositories, flags, env })
    const token = await cluster.token('alice')
    const { databaseUrl } = cluster
    const ofApi = ['--role', 'api', ...flagsFor(bucket)]
    const [api] = await Promise.all([
      startSharedService(t, { repositories, databaseUrl, flags: ofApi, env }),
      cluster.worker(),
      cluster.worker(),
    ])
    const { id } = await post(cluster, api, token, '/user/migrations', { repositories: names })
    await untilEnded(cluster, api, token, id, 'exported')
    const link = await archiveLink(cluster, api, token, id)
    assert.ok(link.startsWith(bucket.endpoint))
    const response = await fetch(link)
    assert.match(
      response.headers.get('content-disposition')!,
      /^attachment; filename=migration-\d+-alice-\d{4}-\d\d-\d\d\.tar\.gz$/,
    )
    await response.body!.cancel()
    await verifyArchive(t, cluster, api, token, id)

    const before = (await contentsOf(bucket)).objects.length
    const path = `/user/migrations/${id}/archive`
    assert.equal((await cluster.call(api, token, path, { method: 'DELETE' })).status, 204)
    // The archive, the metadata and the manifest are deleted; the repositories stay for the next export.
    await until('three objects are gone', async () => {
      const { objects } = await contentsOf(bucket)
      return objects.length <= before - 3
    })
    const { objects, uploads } = await contentsOf(bucket)
    assert.equal(objects.length, before - 3)
    assert.deepEqual(uploads, [])
    for (const log of [api.log(), cluster.log()]) {
      assert.ok(!log.includes(process.env.AWS_SECRET_ACCESS_KEY!))
      assert.ok(!log.includes('X-Amz-Signature'))
    }
  },
)

/** Starts a service on a bucket, with one repository of alice of this size. */
async function bucketStory(t: TestContext, bytes: number, downloads: 'proxy' | 'redirect') {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: incompressible(bytes) } })
  const bucket = await emptyBucket()
  const service = await startSharedService(t, {
    repositories: host.root,
    engine: 'postgres',
    flags: [...flagsFor(bucket), '--downloads', downloads],
    env: envFor(bucket),
  })
  const token = await service.token('alice')
  const blobs = createS3BlobStore({ ...bucket, prefix: 'godwit' })
  return {
    ...{ bucket, service, blobs },
    async migrate(): Promise<number> {
      const body = JSON.stringify({ repositories: ['site'] })
      const started = await service.call(token, '/user/migrations', { method: 'POST', body })
      const { id } = (await started.json()) as { id: number }
      await untilServiceEnded(service, token, id, 'exported')
      return id
    },
    /** Returns the address of an archive, or the status if there is none. */
    async link(id: number): Promise<string> {
      const { status, headers } = await service.call(token, `/user/migrations/${id}/archive`)
      return headers.get('location') ?? String(status)
    },
    largestBlobs: async () => (await Array.fromAsync(blobs.list())).sort((a, b) => b.size - a.size),
  }
}

async function assertIntact(t: TestContext, link: string): Promise<void> {
  await verifyBytes(t, Buffer.from(await (await fetch(link)).arrayBuffer()))
}

/** Damages a segment, and asserts that a download breaks off, and that the next migration is intact. */
async function assertDamageIsSeen(
  t: TestContext,
  { blobs, link, migrate }: Awaited<ReturnType<typeof bucketStory>>,
  { id, key }: { id: number; key: string },
): Promise<void> {
  await damageBlob(blobs, key, flipBit)
  const damaged = await fetch(await link(id))
  await assert.rejects(damaged.arrayBuffer(), 'the download looks complete')
  assert.equal(await link(id), '410')
  await assertIntact(t, await link(await migrate()))
}

test(
  'proxied downloads come from the API, and a damaged segment is detected',
  needsObjectStore,
  async (t) => {
    const story = await bucketStory(t, 3_000_000, 'proxy')
    const id = await story.migrate()
    const link = await story.link(id)
    assert.ok(link.startsWith(story.service.url))
    await assertIntact(t, link)
    const [segment] = await story.largestBlobs()
    await assertDamageIsSeen(t, story, { id, key: segment!.key })
  },
)

test(
  'a damaged archive in the bucket, and a damaged segment, are detected',
  needsObjectStore,
  async (t) => {
    const story = await bucketStory(t, 6_000_000, 'redirect')
    const { bucket, service, link } = story
    const id = await story.migrate()
    // The largest is the archive as composed in the bucket.
    const [whole, segment] = await story.largestBlobs()
    await damageBlob(story.blobs, whole!.key, flipBit)
    const { godwit } = await commandLine(t, envFor(bucket))
    const settings = ['--database-url', service.databaseUrl!, ...flagsFor(bucket)]
    const ended = await godwit(['check', '--store', ...settings])
    assert.equal(ended.code, 1, ended.output)
    assert.ok((await link(id)).startsWith(service.url), 'downloads use the segments')
    assert.equal((await fetch(await link(id))).status, 200)
    await assertDamageIsSeen(t, story, { id, key: segment!.key })
  },
)
