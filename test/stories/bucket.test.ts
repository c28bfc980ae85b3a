import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Cluster, type Member, startCluster } from '../support/cluster.ts'
import { manyRepositories, post, untilEnded, verifyArchive } from '../support/cluster-story.ts'
import { gitHost } from '../support/git-host.ts'
import { contentsOf, emptyBucket, needsObjectStore, ownGateway } from '../support/radosgw.ts'
import { slowGit } from '../support/slow-git.ts'

async function startOnBucket(t: TestContext, repositories: string, endpoint?: string) {
  const bucket = await emptyBucket()
  const cluster = await startCluster(t, {
    repositories,
    flags: ['--blobs', `s3://${bucket.bucket}/godwit`, '--concurrency', '1'],
    env: {
      AWS_ENDPOINT_URL: endpoint ?? bucket.endpoint,
      AWS_REGION: process.env.AWS_REGION!,
      AWS_ACCESS_KEY_ID: process.env.AWS_ACCESS_KEY_ID!,
      AWS_SECRET_ACCESS_KEY: process.env.AWS_SECRET_ACCESS_KEY!,
    },
  })
  return { bucket, cluster }
}

test(
  'archives are composed in the bucket and fetched from there, or through the API',
  needsObjectStore,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    const names = await manyRepositories(host, 5)
    const { bucket, cluster } = await startOnBucket(t, host.root)
    const token = await cluster.token('alice')
    const [api] = await Promise.all([cluster.api(), cluster.worker(), cluster.worker()])
    const { id } = await post(cluster, api!, token, '/user/migrations', { repositories: names })
    assert.equal(await untilEnded(cluster, api!, token, id), 'exported')
    const link = await archiveLink(cluster, api!, token, id)
    assert.ok(link.startsWith(bucket.endpoint))
    const answer = await fetch(link)
    assert.match(
      answer.headers.get('content-disposition')!,
      /^attachment; filename=[0-9a-f-]{36}\.tar\.gz$/,
    )
    await answer.body!.cancel()
    await verifyArchive(t, cluster, api!, token, id)

    const before = (await contentsOf(bucket)).objects.length
    const path = `/user/migrations/${id}/archive`
    assert.equal((await cluster.call(api!, token, path, { method: 'DELETE' })).status, 204)
    const { objects, uploads } = await contentsOf(bucket)
    // The whole and the metadata are gone; the repositories stay for the next export.
    assert.equal(objects.length, before - 2)
    assert.deepEqual(uploads, [])
    assert.ok(!cluster.log().includes(process.env.AWS_SECRET_ACCESS_KEY!))
    assert.ok(!cluster.log().includes('X-Amz-Signature'))
  },
)

test('downloads by proxy come from the API itself', needsObjectStore, async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 2)
  const { cluster } = await startOnBucket(t, host.root)
  const token = await cluster.token('alice')
  const api = await cluster.api('--downloads', 'proxy')
  await cluster.worker('--downloads', 'proxy')
  const { id } = await post(cluster, api, token, '/user/migrations', { repositories: names })
  assert.equal(await untilEnded(cluster, api, token, id), 'exported')
  assert.ok((await archiveLink(cluster, api, token, id)).startsWith(api.url))
  await verifyArchive(t, cluster, api, token, id)
})

test(
  'a store that is away for a while delays an export and spoils nothing',
  needsObjectStore,
  async (t) => {
    const host = await gitHost()
    t.after(host.remove)
    const names = await manyRepositories(host, 3)
    const gateway = await ownGateway(t)
    const git = await slowGit()
    t.after(git.remove)
    const { cluster } = await startOnBucket(t, host.root, gateway.endpoint)
    const token = await cluster.token('alice')
    const api = await cluster.api()
    await cluster.worker('--git', git.program)
    const { id } = await post(cluster, api, token, '/user/migrations', { repositories: names })
    await git.pid()
    await gateway.kill()
    await git.hurry()
    process.kill(await git.pid())
    await sleep(3000)
    await gateway.restart()
    assert.equal(await untilEnded(cluster, api, token, id), 'exported')
    await verifyArchive(t, cluster, api, token, id)
  },
)

async function archiveLink(
  cluster: Cluster,
  api: Member,
  token: string,
  id: unknown,
): Promise<string> {
  const redirect = await cluster.call(api, token, `/user/migrations/${id}/archive`)
  assert.equal(redirect.status, 302)
  return redirect.headers.get('location')!
}
