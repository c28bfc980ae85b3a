import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createS3BlobStore } from '../../packages/server/src/blobs/s3.ts'
import { connect } from '../../packages/server/src/db/connect.ts'
import type { Db } from '../../packages/server/src/db/database.ts'
import { sweepOrphans } from '../../packages/server/src/exporter/blob-store-owner.ts'
import { archiveSegments } from '../../packages/server/src/migrations/archive-store.ts'
import { countJobs } from '../../packages/server/src/queue/pg-boss.ts'
import { type Cluster, type ClusterOptions, type Member, startCluster } from './cluster.ts'
import { manyRepositories, post, untilEnded, verifyArchive } from './cluster-story.ts'
import { type GitHost, gitHost } from './git-host.ts'
import { contentsOf, emptyBucket, envFor, flagsFor, type TestBucket } from './radosgw.ts'
import { type SlowGit, slowGit } from './slow-git.ts'
import { until } from './wait-until.ts'

interface FaultOptions extends Pick<ClusterOptions, 'databaseUrl'> {
  repositories: number
  flags?: string[]
  /** The address of another gateway to the object store than the shared one. */
  endpoint?: string
}

/** Alice's repositories on a cluster with its own database and bucket, and a git that can be slowed down. */
export interface FaultStory {
  host: GitHost
  names: string[]
  git: SlowGit
  bucket: TestBucket
  cluster: Cluster
  token: string
  /** Starts a migration that locks all repositories, and resolves to its id. */
  start(api: Member): Promise<unknown>
  /** Asserts that these migrations of all repositories were exported and that their locks can be released. */
  assertExported(api: Member, ids: readonly unknown[]): Promise<void>
  /** Stops the workers, and asserts that no archive contains anything twice and that nothing is left over. */
  assertTidy(workers: readonly Member[]): Promise<void>
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
    async assertExported(api, ids) {
      for (const id of ids) {
        await untilEnded(cluster, api, token, id, 'exported')
        await verifyArchive(t, cluster, api, token, id)
      }
      await releaseLocks(story, api, ids)
    },
    async assertTidy(workers) {
      await Promise.all(workers.map((worker) => worker.kill('SIGTERM')))
      await assertTidy(story)
    },
  }
}

type Scene = Omit<FaultStory, 'start' | 'assertExported' | 'assertTidy'>

async function assertTidy({ cluster, bucket }: Scene): Promise<void> {
  const { db, close } = await connect({ dataDirectory: '', databaseUrl: cluster.databaseUrl })
  try {
    await assertNoDuplicates(db)
    assert.deepEqual(await db.selectFrom('repository_locks').selectAll().execute(), [])
    assert.deepEqual(await countJobs(db), [])
    await assertNoUnknownObjects(db, bucket)
  } finally {
    await close()
  }
}

/** Releases the locks through the API. */
async function releaseLocks(
  { cluster, token, names, host }: Scene,
  api: Member,
  ids: readonly unknown[],
) {
  for (const id of ids) {
    for (const name of names) {
      const path = `/user/migrations/${id}/repos/${name.split('/')[1]}/lock`
      const response = await cluster.call(api, token, path, { method: 'DELETE' })
      assert.equal(response.status, 204, name)
    }
  }
  for (const name of names) {
    await until(`${name} is unlocked`, () =>
      host.git(['config', 'receive.hideRefs'], { dir: host.path(name) }).then(
        () => false,
        () => true,
      ),
    )
  }
}

async function assertNoDuplicates(db: Db): Promise<void> {
  const archives = await db
    .selectFrom('migrations')
    .select(['id', 'repository_count'])
    .where('archive_expires_at', 'is not', null)
    .execute()
  for (const { id, repository_count: count } of archives) {
    // The first and the last segment, which belong to no repository, are the metadata and the manifest.
    const keys = (await archiveSegments(db, { id })).map(({ key }) => key).slice(1, -1)
    assert.equal(keys.length, count)
    const { repositories } = await db
      .selectFrom('segments')
      .select((of) => of.fn.count<number>('repository_id').distinct().as('repositories'))
      .where('key', 'in', keys)
      .executeTakeFirstOrThrow()
    assert.equal(repositories, count)
  }
}

/** Asserts that the sweep removes everything that a killed process left behind. */
async function assertNoUnknownObjects(db: Db, bucket: TestBucket): Promise<void> {
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
