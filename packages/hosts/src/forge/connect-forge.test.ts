import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import { fillForge } from '../../../../test/support/forge/filled-forge.ts'
import { connectForge } from './connect-forge.ts'

const { signal } = new AbortController()

test('the version of a forge is requested once for everything that is read from it', async (t) => {
  const server = await startForge()
  t.after(() => server.stop())
  fillForge(server)
  const forge = connectForge({ url: server.url, token: 'admin-token' })
  const versions = () => server.requests.filter(({ path }) => path === '/api/v1/version').length
  await Array.fromAsync(forge.forgeRepositories.all(signal))
  await forge.discussions.owner('octo', signal)
  await forge.getKnownForge(signal)
  assert.equal(versions(), 1)
})

test('what is known about a forge expires if the clock is set back', async (t) => {
  const server = await startForge()
  t.after(() => server.stop())
  const clock = { now: Date.UTC(2030, 0) }
  const options = { url: server.url, token: 'admin-token', now: () => clock.now }
  const forge = connectForge(options)
  const versions = () => server.requests.filter(({ path }) => path === '/api/v1/version').length
  fillForge(server)
  const readOwner = () => forge.discussions.sharing(Date.UTC(2026, 0)).owner('octo', signal)
  await forge.getKnownForge(signal)
  await readOwner()
  clock.now = Date.UTC(2026, 0)
  await forge.getKnownForge(signal)
  assert.equal(versions(), 2)
  const before = server.requests.length
  await readOwner()
  assert.ok(server.requests.length > before)
})

test('a probe asks the forge each time, even while the limit of requests is reached', async (t) => {
  const server = await startForge()
  t.after(() => server.stop())
  const refuse = async () => assert.fail('the probe counts against the limit')
  const budget = { take: refuse, holdUntil: refuse }
  const forge = connectForge({ url: server.url, token: 'admin-token', budget })
  await forge.probe(signal)
  await forge.probe(signal)
  assert.equal(server.requests.length, 2)
  server.faultFor = () => ({ hang: true })
  await assert.rejects(forge.probe(AbortSignal.timeout(100)))
})
