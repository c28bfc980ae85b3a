import assert from 'node:assert/strict'
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { entriesIn } from '../support/command-line.ts'
import { untilEnded } from '../support/ended-migration.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { startForge } from '../support/forge/fake-forge.ts'
import { addManyIssues } from '../support/forge/many-issues.ts'
import { gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/wait-until.ts'

/** The job would be given up after one more kill. */
const KILLS = 4
const ROUNDS = shortOrLong({ short: 1, long: 3 })

test('a service that is killed repeatedly while it reads a forge writes the same records', async (t) => {
  const forge = await startForge()
  t.after(() => forge.stop())
  addManyIssues(forge, 1500)
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('ann/many', { files: { a: 'a' } })
  const tokenFile = join(temporaryDirectory(t), 'token')
  await writeFile(tokenFile, 'admin-token\n')
  await chmod(tokenFile, 0o600)
  const settings = ['--forge', forge.url, '--forge-token-file', tokenFile]
  const flags = [
    ...settings,
    '--forge-rate-limit',
    '1000000',
    '--web-url',
    'http://git.test/{owner}/{name}',
  ]
  const start = () => startService(t, { repositories: host.root, flags })

  const undisturbed = await start()
  const expected = await recordsOf(t, undisturbed, await migrate(undisturbed))
  await undisturbed.kill('SIGTERM')

  for (let round = 0; round < ROUNDS; round++) {
    const service = await start()
    const id = await migrate(service)
    for (let kills = 0; kills < KILLS; kills++) {
      // The kills fall both within a batch and after one.
      const requests = forge.requests.length + 20 + (((round * KILLS + kills) * 37) % 150)
      await until('the forge is read', () => forge.requests.length >= requests)
      assert.equal(await stateOf(service, id), 'exporting', `before kill ${kills + 1}`)
      await service.kill('SIGKILL')
      await service.restart()
    }
    assert.deepEqual(await recordsOf(t, service, id), expected)
    await service.kill('SIGTERM')
  }
  reportFault(t, 'kill -9 of a service that reads a forge', ROUNDS * KILLS, 'the same records')
})

async function migrate(service: Service): Promise<number> {
  const token = await service.token('ann')
  const body = JSON.stringify({ repositories: ['ann/many'] })
  const response = await service.call(token, '/user/migrations', { method: 'POST', body })
  assert.equal(response.status, 201, service.log())
  return ((await response.json()) as { id: number }).id
}

async function stateOf(service: Service, id: number): Promise<unknown> {
  const response = await service.call(await service.token('ann'), `/user/migrations/${id}`)
  return ((await response.json()) as { state: unknown }).state
}

async function recordsOf(t: TestContext, service: Service, id: number) {
  const token = await service.token('ann')
  await untilEnded(service, token, id, 'exported')
  const archive = await service.call(token, `/user/migrations/${id}/archive`, {
    redirect: 'follow',
  })
  const file = join(temporaryDirectory(t), 'archive.tar.gz')
  await writeFile(file, Buffer.from(await archive.arrayBuffer()))
  const records = (await entriesIn(file)).filter(({ path }) => /^[a-z_]+_\d{6}\.json$/.test(path))
  assert.ok(records.length > 15)
  return new Map(records.map(({ path, content }) => [path, String(content)]))
}
