import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createS3BlobStore } from '../../src/blobs/s3.ts'
import { connect, type Db } from '../../src/db/connect.ts'
import { sweepOrphans } from '../../src/exporter/sweep.ts'
import { countJobs } from '../../src/queue/pg-boss-jobs.ts'
import { type Cluster, type ClusterOptions, type Member, startCluster } from './cluster.ts'
import { manyRepositories, post, untilEnded, verifyArchive } from './cluster-story.ts'
import { type GitHost, gitHost } from './git-host.ts'
import { contentsOf, emptyBucket, envFor, flagsFor, type TestBucket } from './radosgw.ts'
import { type SlowGit, slowGit } from './slow-git.ts'

interface FaultOptions extends Pick<ClusterOptions, 'databaseUrl'> {
  repositories: number
  flags?: string[]
  /** Another way to the objects than the shared gateway. */
  endpoint?: string
}

/** Alice's repositories on a cluster with a database and a bucket of its own, and git that can be made to take its time. */
export interface FaultStory {
  host: GitHost
  names: string[]
  git: SlowGit
  bucket: TestBucket
  cluster: Cluster
  token: string
  /** Starts a migration of all repositories that locks them, and resolves to its id. */
  start(api: Member): Promise<unknown>
  /** Nothing is missing, nothing is there twice, and nothing is left behind of what went wrong. */
  assertWhole(api: Member, ids: readonly unknown[], workers: readonly Member[]): Promise<void>
}

export async function faultStory(t: TestContext, options: FaultOptions): Promise<FaultStory> {
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, options.repositories)
  const git = await slowGit()
  t.after(git.remove)
  const bucket = await emptyBucket()
  const cluster = await startCluster(t, {
    repositories: host.root,
    flags: [...flagsFor(bucket), '--concurrency', '1', ...(options.flags ?? [])],
    env: envFor({ endpoint: options.endpoint ?? bucket.endpoint }),
    ...(options.databaseUrl && { databaseUrl: options.databaseUrl }),
  })
  const token = await cluster.token('alice')
  const story = { host, names, git, bucket, cluster, token }
  return {
    ...story,
    async start(api) {
      const body = { repositories: names, lock_repositories: true }
      return (await post(cluster, api, token, '/user/migrations', body)).id
    },
    assertWhole: (api, ids, workers) => assertWhole(t, story, api, ids, workers),
  }
}

type Scene = Omit<FaultStory, 'start' | 'assertWhole'>

async function assertWhole(
  t: TestContext,
  scene: Scene,
  api: Member,
  ids: readonly unknown[],
  workers: readonly Member[],
): Promise<void> {
  const { cluster, token } = scene
  for (const id of ids) {
    assert.equal(await untilEnded(cluster, api, token, id), 'exported', cluster.log())
    await verifyArchive(t, cluster, api, token, id)
  }
  await openAll(scene, api, ids)
  await Promise.all(workers.map((worker) => worker.kill('SIGTERM')))
  const { db, close } = await connect({ dataDirectory: '', databaseUrl: cluster.databaseUrl })
  try {
    for (const id of ids) await assertEachOnce(db, id, scene.names.length)
    assert.deepEqual(await db.selectFrom('repository_locks').selectAll().execute(), [])
    assert.deepEqual(await countJobs(db), [])
    await assertNothingStray(db, scene)
  } finally {
    await close()
  }
}

/** By the API, as whoever asked for the locks does in the end. */
async function openAll(
  { cluster, token, names, host }: Scene,
  api: Member,
  ids: readonly unknown[],
) {
  for (const id of ids) {
    for (const name of names) {
      const path = `/user/migrations/${id}/repos/${name.split('/')[1]}/lock`
      const answer = await cluster.call(api, token, path, { method: 'DELETE' })
      assert.equal(answer.status, 204, name)
    }
  }
  for (const name of names) {
    const hidden = host.git(['config', 'receive.hideRefs'], { dir: host.path(name) })
    await assert.rejects(hidden, `${name} is still locked`)
  }
}

async function assertEachOnce(db: Db, id: unknown, repositories: number): Promise<void> {
  const rows = await db
    .selectFrom('archive_segments')
    .innerJoin('segments', 'segments.key', 'segment_key')
    .select('repository_id')
    .where('migration_id', '=', Number(id))
    .execute()
  // The metadata is of none.
  assert.equal(rows.length, repositories + 1)
  assert.equal(new Set(rows.map((row) => row.repository_id)).size, repositories + 1)
}

/** What a process that died had no time to remove is what the sweep removes, and all of it. */
async function assertNothingStray(db: Db, { bucket }: Scene): Promise<void> {
  const { endpoint, bucket: name } = bucket
  const blobs = createS3BlobStore({ bucket: name, prefix: 'godwit', endpoint })
  await sweepOrphans({ db, blobs, now: () => Date.now() + 1000 }, 0)
  const segments = await db.selectFrom('segments').select('key').execute()
  const archives = await db
    .selectFrom('migrations')
    .select('archive_key as key')
    .where('archive_key', 'is not', null)
    .execute()
  const known = [...segments, ...archives].map(({ key }) => `godwit/${key}`).sort()
  assert.deepEqual(await contentsOf(bucket), { objects: known, uploads: [] })
}
