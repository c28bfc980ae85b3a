import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Cluster, Member } from './cluster.ts'
import { type EndState, untilEnded as untilServerEnded } from './ended-migration.ts'
import type { GitHost } from './git-host.ts'
import { createCommandRunner } from './shared-commands.ts'

export async function manyRepositories(host: GitHost, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, n) => `alice/r${n}`)
  for (const name of names) await host.repository(name, { files: { a: name } })
  return names
}

export async function post(
  cluster: Cluster,
  api: Pick<Member, 'url'>,
  token: string,
  path: string,
  body: unknown,
): Promise<Record<string, unknown>> {
  const response = await cluster.call(api, token, path, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, unknown>
}

/** Waits for the end of a migration, through one of the API processes. */
export async function untilEnded(
  cluster: Cluster,
  api: Pick<Member, 'url'>,
  token: string,
  id: unknown,
  expected?: EndState,
): Promise<EndState> {
  const server = {
    log: cluster.log,
    call: (as: string, path: string) => cluster.call(api, as, path),
  }
  return (await untilServerEnded(server, token, id, expected)).state
}

export async function archiveLink(
  cluster: Cluster,
  api: Pick<Member, 'url'>,
  token: string,
  id: unknown,
): Promise<string> {
  const redirect = await cluster.call(api, token, `/user/migrations/${id}/archive`)
  assert.equal(redirect.status, 302)
  return redirect.headers.get('location')!
}

/** Downloads the archive like any client and runs `godwit verify`. */
export async function verifyArchive(
  t: TestContext,
  cluster: Cluster,
  api: Pick<Member, 'url'>,
  token: string,
  id: unknown,
): Promise<void> {
  const archive = await fetch(await archiveLink(cluster, api, token, id))
  assert.equal(archive.status, 200)
  await verifyBytes(t, Buffer.from(await archive.arrayBuffer()))
}

export async function verifyBytes(t: TestContext, archive: Buffer): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-archive-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  const file = join(dir, 'migration.tar.gz')
  await writeFile(file, archive)
  const { code, stdout, stderr } = await createCommandRunner()(['verify', file])
  assert.equal(code, 0, `${stdout}${stderr}`)
}
