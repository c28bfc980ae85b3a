import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { until } from '../support/wait-until.ts'
import { checkArchive } from './check-archive.ts'
import type { ServerUnderTest } from './server-under-test.ts'

export interface Migration {
  id: number
  state: string
}

/** The methods of a client library for migrations. An error rejects with its `status`. */
export interface Client {
  start(repositories: string[], options: { lock: boolean }): Promise<Migration>
  /** Ids of the caller's migrations, with the client's own pagination. */
  list(perPage: number): AsyncIterable<number[]>
  status(id: number): Promise<Migration>
  /** Full names, page by page. */
  repositories(id: number, perPage: number): AsyncIterable<string[]>
  download(id: number, file: string): Promise<void>
  unlock(id: number, name: string): Promise<void>
  deleteArchive(id: number): Promise<void>
}

/** Runs a migration from its start to the deletion of its archive with one client. */
export async function runLifecycle(
  t: TestContext,
  { repositories }: ServerUnderTest,
  client: Client,
): Promise<void> {
  const older = await client.start(repositories.slice(0, 1), { lock: false })
  const { id, state } = await client.start(repositories, { lock: true })
  assert.match(state, /^(pending|exporting)$/)
  assert.deepEqual(await orderInList(client, [older.id, id]), [id, older.id], 'newest first')

  assert.equal((await untilEnded(client, id)).state, 'exported')
  assert.deepEqual((await listRepositories(client, id)).sort(), repositories.toSorted())

  const dir = await mkdtemp(join(tmpdir(), 'godwit-wire-archive-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  await client.download(id, join(dir, 'archive.tar.gz'))
  await checkArchive(join(dir, 'archive.tar.gz'), repositories)

  for (const fullName of repositories) {
    const name = fullName.slice(fullName.indexOf('/') + 1)
    await client.unlock(id, name)
    await assert.rejects(client.unlock(id, name), { status: 404 }, 'the repository is still locked')
  }

  await client.deleteArchive(id)
  await assert.rejects(client.deleteArchive(id), { status: 404 })
  await assert.rejects(client.download(id, join(dir, 'none')), { status: 404 })
  assert.equal((await client.status(id)).state, 'exported', 'the migration is gone')
}

/** Returns the order in which the list has these ids; other callers may have migrations between them. */
async function orderInList(client: Client, ids: number[]): Promise<number[]> {
  const seen = new Set<number>()
  for await (const page of client.list(1)) {
    assert.equal(page.length, 1)
    for (const id of page) if (ids.includes(id)) seen.add(id)
    if (seen.size === ids.length) break
  }
  return [...seen]
}

async function untilEnded(client: Client, id: number): Promise<Migration> {
  return until(`migration ${id} has ended`, async () => {
    const migration = await client.status(id)
    return (migration.state === 'exported' || migration.state === 'failed') && migration
  })
}

async function listRepositories(client: Client, id: number): Promise<string[]> {
  const names: string[] = []
  for await (const page of client.repositories(id, 1)) {
    assert.equal(page.length, 1)
    names.push(...page)
  }
  return names
}
