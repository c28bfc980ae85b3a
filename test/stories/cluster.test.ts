import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Cluster, type Member, startCluster } from '../support/cluster.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { slowGit } from '../support/slow-git.ts'

const run = promisify(execFile)
const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname

type Json = Record<string, unknown>

async function manyRepositories(host: GitHost, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, n) => `alice/r${n}`)
  for (const name of names) await host.repository(name, { files: { a: name } })
  return names
}

async function post(cluster: Cluster, api: Member, token: string, path: string, body: unknown) {
  const answer = await cluster.call(api, token, path, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  return (await answer.json()) as Json
}

async function untilEnded(
  cluster: Cluster,
  api: Member,
  token: string,
  id: unknown,
): Promise<string> {
  for (;;) {
    const answer = await cluster.call(api, token, `/user/migrations/${id}?exclude=repositories`)
    const { state } = (await answer.json()) as { state: string }
    if (state === 'exported' || state === 'failed') return state
    await sleep(50)
  }
}

/** Downloads the archive as any client would and lets `godwit verify` judge it. */
async function verifyArchive(
  t: TestContext,
  cluster: Cluster,
  api: Member,
  token: string,
  id: unknown,
) {
  const redirect = await cluster.call(api, token, `/user/migrations/${id}/archive`)
  const archive = await fetch(redirect.headers.get('location')!)
  assert.equal(archive.status, 200)
  const dir = await mkdtemp(join(tmpdir(), 'godwit-archive-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  const file = join(dir, 'migration.tar.gz')
  await writeFile(file, Buffer.from(await archive.arrayBuffer()))
  await run(GODWIT, ['verify', file])
}

test('an API that sees no repositories, and workers that do', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 6)
  const cluster = await startCluster(t, { repositories: host.root })
  const token = await cluster.token('alice')
  const [one, two] = await Promise.all([
    cluster.api(),
    cluster.api(),
    cluster.worker(),
    cluster.worker(),
  ])
  const body = { repositories: names, lock_repositories: true }
  const { id } = await post(cluster, one!, token, '/user/migrations', body)
  await assert.rejects(host.push('alice/r0', { b: '2' }), /deny updating a hidden ref/)
  assert.equal(await untilEnded(cluster, two!, token, id), 'exported')
  await verifyArchive(t, cluster, two!, token, id)
  const unlocked = await cluster.call(one!, token, `/user/migrations/${id}/repos/r0/lock`, {
    method: 'DELETE',
  })
  assert.equal(unlocked.status, 204)
  await host.push('alice/r0', { b: '2' })
})

test('a worker that is killed, or stopped and woken, loses nothing and writes nothing twice', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = await manyRepositories(host, 4)
  const git = await slowGit()
  t.after(git.remove)
  const cluster = await startCluster(t, { repositories: host.root, flags: ['--concurrency', '1'] })
  const token = await cluster.token('alice')
  const api = await cluster.api()
  const slow = await cluster.worker('--git', git.program)
  const { id } = await post(cluster, api, token, '/user/migrations', { repositories: names })
  const pid = await git.pid()
  slow.process.kill('SIGSTOP')
  const killed = await cluster.worker('--git', git.program)
  await until(async () => (await git.pid()) !== pid)
  await killed.kill('SIGKILL')
  await git.hurry()
  await cluster.worker()
  assert.equal(await untilEnded(cluster, api, token, id), 'exported')
  slow.process.kill('SIGCONT')
  await sleep(2000)
  const { repositories } = (await (
    await cluster.call(api, token, `/user/migrations/${id}/progress`)
  ).json()) as { repositories: Json[] }
  assert.deepEqual(
    repositories.map(({ state }) => state),
    names.map(() => 'carried'),
  )
  await verifyArchive(t, cluster, api, token, id)
})

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(20)
}
