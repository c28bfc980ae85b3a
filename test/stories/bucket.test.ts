import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { startCluster } from '../support/cluster.ts'
import {
  archiveLink,
  manyRepositories,
  post,
  untilEnded,
  verifyArchive,
  verifyBytes,
} from '../support/cluster-story.ts'
import { gitHost } from '../support/git-host.ts'
import { contentsOf, emptyBucket, envFor, flagsFor, needsObjectStore } from '../support/radosgw.ts'
import { startService, untilEnded as untilServiceEnded } from '../support/service.ts'
import { until } from '../support/wait-until.ts'

async function startOnBucket(t: TestContext, repositories: string) {
  const bucket = await emptyBucket()
  const flags = ['--concurrency', '1', ...flagsFor(bucket)]
  return { bucket, cluster: await startCluster(t, { repositories, flags, env: envFor(bucket) }) }
}

test(
  'archives are composed in the bucket and downloaded from there, or through the API',
  needsObjectStore,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    const names = await manyRepositories(host, 5)
    const { bucket, cluster } = await startOnBucket(t, host.root)
    const token = await cluster.token('alice')
    const [api] = await Promise.all([cluster.api(), cluster.worker(), cluster.worker()])
    const { id } = await post(cluster, api!, token, '/user/migrations', { repositories: names })
    await untilEnded(cluster, api!, token, id, 'exported')
    const link = await archiveLink(cluster, api!, token, id)
    assert.ok(link.startsWith(bucket.endpoint))
    const response = await fetch(link)
    assert.match(
      response.headers.get('content-disposition')!,
      /^attachment; filename=migration-\d+-alice-\d{4}-\d\d-\d\d\.tar\.gz$/,
    )
    await response.body!.cancel()
    await verifyArchive(t, cluster, api!, token, id)

    const before = (await contentsOf(bucket)).objects.length
    const path = `/user/migrations/${id}/archive`
    assert.equal((await cluster.call(api!, token, path, { method: 'DELETE' })).status, 204)
    // The archive, the metadata and the manifest are deleted; the repositories stay for the next export.
    await until('three objects are gone', async () => {
      const { objects } = await contentsOf(bucket)
      return objects.length <= before - 3
    })
    const { objects, uploads } = await contentsOf(bucket)
    assert.equal(objects.length, before - 3)
    assert.deepEqual(uploads, [])
    assert.ok(!cluster.log().includes(process.env.AWS_SECRET_ACCESS_KEY!))
    assert.ok(!cluster.log().includes('X-Amz-Signature'))
  },
)

test('proxied downloads come from the API', needsObjectStore, async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 2)
  const bucket = await emptyBucket()
  const service = await startService(t, {
    repositories: host.root,
    engine: 'postgres',
    flags: [...flagsFor(bucket), '--concurrency', '1', '--downloads', 'proxy'],
    env: envFor(bucket),
  })
  const token = await service.token('alice')
  const body = JSON.stringify({ repositories: names })
  const started = await service.call(token, '/user/migrations', { method: 'POST', body })
  const { id } = (await started.json()) as { id: number }
  await untilServiceEnded(service, token, id, 'exported')
  const { headers } = await service.call(token, `/user/migrations/${id}/archive`)
  const link = headers.get('location')!
  assert.ok(link.startsWith(service.url))
  await verifyBytes(t, Buffer.from(await (await fetch(link)).arrayBuffer()))
})
