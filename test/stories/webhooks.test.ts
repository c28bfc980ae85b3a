import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Webhook } from '../../packages/contract/src/schemas/types.ts'
import { clientCommandLine } from '../support/client-command-line.ts'
import { onEachEngine } from '../support/databases.ts'
import { fakeServer, sendJson } from '../support/fake-server.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'
import { webhookReceiver } from '../support/webhook-receiver.ts'
import { ALLOW_LOOPBACK, addWebhook, makeHost, post, stateOf } from '../support/webhook-story.ts'

onEachEngine('webhooks', (engine) => {
  test('that hang delay neither exports nor other webhooks', async (t) => {
    const host = await makeHost(t)
    const flags = [...ALLOW_LOOPBACK, '--concurrency', '1']
    const service = await startSharedService(t, { repositories: host.root, engine, flags })
    const [alice, bob] = [await service.token('alice'), await service.token('bob')]
    const hanging = await webhookReceiver(t)
    hanging.respond = () => {}
    const good = await webhookReceiver(t)
    for (let i = 0; i < 8; i++) await addWebhook(service, alice, `${hanging.url}/${i}`)
    await addWebhook(service, bob, good.url)
    await until('the ping of bob’s webhook arrives', () => good.received.length === 1)
    await service.call(alice, '/user/migrations', post({ repositories: ['atlas', 'birds'] }))
    await service.call(bob, '/user/migrations', post({ repositories: ['own'] }))
    await until('the event of bob’s migration arrives', () => good.received.length === 2)
    await until(
      'alice’s migration is exported',
      async () => (await stateOf(service, alice, 1)) === 'exported',
    )
    const payload = JSON.parse(new URLSearchParams(good.received[1]!.body).get('payload')!)
    assert.deepEqual([payload.action, payload.migration.owner.login], ['exported', 'bob'])
  })
})

test('the client creates, edits and removes webhooks of an organization', async (t) => {
  const host = await makeHost(t)
  const service = await startSharedService(t, { repositories: host.root, flags: ALLOW_LOOPBACK })
  const token = await service.token('alice')
  const receiver = await webhookReceiver(t)
  const client = await clientCommandLine(t, { url: service.url, token })
  const SECRET = 'whisper-it-softly'
  writeFileSync(join(client.folder, 'secret'), `${SECRET}\n`)
  const webhook = async (code: number, ...args: string[]) => {
    const output = await client.webhook(code, ...args, '--org', 'octo')
    assert.ok(!`${output.out}${output.err}`.includes(SECRET), 'the output contains the secret')
    return output
  }
  const address = `${receiver.url}/hook?key=in-the-address`

  const added = await webhook(0, 'add', address, '--secret-file', 'secret')
  assert.match(added.out, /^webhook 1 is active\nURL +http.*\nevents +migration\n/)
  assert.match(added.out, /^secret +set$/m)
  await until('the ping arrives', () => receiver.received.length === 1)
  assert.match(receiver.received[0]!.headers['x-hub-signature-256'] as string, /^sha256=/)
  assert.equal(
    JSON.parse(receiver.received[0]!.body).hook.config.secret,
    '********',
    'the secret was sent back',
  )
  await webhook(0, 'ping', '1')
  await until('the second ping arrives', () => receiver.received.length === 2)
  await until('both pings are listed', async () => {
    const { out } = await webhook(0, 'deliveries', '1')
    return out.split('\n').length === 3
  })
  const [newest] = JSON.parse((await webhook(0, 'deliveries', '1', '--json')).out)
  assert.deepEqual([newest.event, newest.status, newest.redelivery], ['ping', 'OK', false])
  assert.match((await webhook(0, 'deliveries', '1', String(newest.id))).out, /Response:\n/)
  await webhook(0, 'redeliver', '1', String(newest.id))
  await until('the redelivery arrives', () => receiver.received.length === 3)
  const edited = await webhook(0, 'edit', '1', '--events', 'migration.failed', '--no-secret')
  assert.match(edited.out, /events +migration\.failed\ncontent type +json\nsecret +none/)
  await webhook(0, 'edit', '1', '--inactive')
  const body = JSON.stringify({ config: { content_type: 'form' } })
  const patched = await service.call(token, '/orgs/octo/hooks/1', { method: 'PATCH', body })
  const { active, events, config } = (await patched.json()) as Webhook
  assert.deepEqual([active, events, config.content_type], [false, ['migration.failed'], 'form'])
  await webhook(0, 'edit', '1', '--active')
  assert.match((await webhook(0, 'list')).out, /^1 +active +migration\.failed +http/m)
  assert.match((await webhook(0, 'show', '1')).out, /last delivery +OK$/)
  assert.match((await webhook(3, 'edit', '1', '--events', 'push')).err, /There is no event "push"/)
  assert.match((await webhook(3, 'add', 'http://192.168.0.1/')).err, /network that is not allowed/)
  assert.match((await webhook(2, 'edit', '1')).err, /nothing to change/)
  assert.match((await webhook(3, 'show', '9')).err, /no webhook 9 for octo/)
  await webhook(0, 'remove', '1')
  assert.equal((await webhook(0, 'list')).out.split('\n').length, 1)

  const bob = await service.token('bob')
  for (const [method, path] of [
    ['GET', ''],
    ['POST', ''],
    ['GET', '/1'],
    ['DELETE', '/1'],
    ['GET', '/1/deliveries'],
  ]) {
    const { status } = await service.call(bob, `/orgs/octo/hooks${path}`, { method: method! })
    assert.equal(status, 404, `${method} ${path} for a member who is no owner`)
  }
  assert.match(service.log(), /"audit":"webhook.create"/)
  for (const hidden of [SECRET, 'in-the-address']) assert.ok(!service.log().includes(hidden))
})

test('a secret changes only on request, although the server would remove it', async (t) => {
  const config = { url: 'https://ci.example', content_type: 'json', insecure_ssl: '0' }
  const hidden = { ...config, secret: '********' }
  const github = await fakeServer(t, (_request, response) =>
    sendJson(response, 200, { id: 1, active: true, events: ['push'], config: hidden }),
  )
  const client = await clientCommandLine(t, { url: github.url, token: 'ghp_0123456789' })
  client.env.GODWIT_WEBHOOK_SECRET = 'of-another-webhook'
  const edit = async (code: number, ...args: string[]) => {
    const before = github.requests.length
    const { err } = await client.webhook(code, 'edit', '1', '--org', 'octo', ...args)
    const changes = github.requests.slice(before).filter(({ method }) => method === 'PATCH')
    return { err, changes: changes.map(({ path, body }) => [path, JSON.parse(body)]) }
  }

  const refused = await edit(2, '--events', 'fork')
  assert.match(
    refused.err,
    /would remove the secret of webhook 1 .*: give the secret with --secret-file/,
  )
  assert.deepEqual(refused.changes, [])
  const url = 'https://other.example'
  assert.deepEqual((await edit(0, '--to', url)).changes, [['/orgs/octo/hooks/1/config', { url }]])
  const secret = client.env.GODWIT_WEBHOOK_SECRET
  assert.deepEqual((await edit(0, '--events', 'fork', '--secret')).changes, [
    ['/orgs/octo/hooks/1', { events: ['fork'], config: { ...config, secret } }],
  ])
  delete client.env.GODWIT_WEBHOOK_SECRET
  assert.match((await edit(1, '--secret')).err, /--secret: GODWIT_WEBHOOK_SECRET is not set/)
})
