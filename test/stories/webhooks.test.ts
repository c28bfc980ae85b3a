import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { clientDesk } from '../support/client-desk.ts'
import { onEachEngine } from '../support/databases.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { type SharedService, startService } from '../support/service.ts'
import { startInRow } from '../support/service-row.ts'
import { until } from '../support/wait-until.ts'
import { type Receiver, webhookReceiver } from '../support/webhook-receiver.ts'

async function makeHost(t: TestContext): Promise<GitHost> {
  const host = await gitHost()
  t.after(host.remove)
  for (const name of ['alice/atlas', 'alice/birds', 'bob/own', 'octo/kit'])
    await host.repository(name, { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
  return host
}

const NEAR = ['--webhook-networks', '127.0.0.1']

const post = (body: unknown) => ({ method: 'POST', body: JSON.stringify(body) })

async function add(service: SharedService, token: string, url: string): Promise<void> {
  const { status } = await service.call(token, '/user/hooks', post({ config: { url } }))
  assert.equal(status, 201)
}

const events = ({ received }: Receiver): unknown[] =>
  received.map(({ headers }) => headers['x-github-event'])

const stateOf = async (service: SharedService, token: string, id: number): Promise<string> => {
  const answer = await service.call(token, `/user/migrations/${id}?exclude=repositories`)
  return ((await answer.json()) as { state: string }).state
}

onEachEngine('webhooks', (engine) => {
  test('are told of an end though the service is killed while it tells them, under the same id', async (t) => {
    const host = await makeHost(t)
    const service = await startService(t, { repositories: host.root, engine, flags: NEAR })
    const token = await service.token('alice')
    const receiver = await webhookReceiver(t)
    await add(service, token, receiver.url)
    await until('the ping has come', () => receiver.received.length === 1)

    // It hangs: the end is written down, and being told, when the service is killed.
    receiver.answer = () => {}
    await service.call(token, '/user/migrations', post({ repositories: ['atlas'] }))
    await until('the end is being told', () => receiver.received.length === 2)
    assert.equal(await stateOf(service, token, 1), 'exported')
    await service.kill('SIGKILL')
    receiver.answer = (response) => void response.end()
    await service.restartInRow()
    await until('it is told, and that is written down', async () => {
      const answer = await service.call(token, '/user/hooks/1/deliveries')
      const all = (await answer.json()) as { event: string; status: string }[]
      return all.some(({ event, status }) => event === 'migration' && status === 'OK')
    })
    assert.deepEqual(events(receiver), ['ping', 'migration', 'migration'])
    const [, ...told] = receiver.received
    assert.equal(new Set(told.map(({ headers }) => headers['x-github-delivery'])).size, 1)
    assert.equal(new Set(told.map(({ body }) => body)).size, 1)
  })

  test('that hang are not in the way of exports, nor of anybody else’s', async (t) => {
    const host = await makeHost(t)
    const flags = [...NEAR, '--concurrency', '1']
    const service = await startInRow(t, { repositories: host.root, engine, flags })
    const [alice, bob] = [await service.token('alice'), await service.token('bob')]
    const hanging = await webhookReceiver(t)
    hanging.answer = () => {}
    const good = await webhookReceiver(t)
    for (let i = 0; i < 8; i++) await add(service, alice, `${hanging.url}/${i}`)
    await add(service, bob, good.url)
    await until('bob’s ping has come', () => good.received.length === 1)
    await service.call(alice, '/user/migrations', post({ repositories: ['atlas', 'birds'] }))
    await service.call(bob, '/user/migrations', post({ repositories: ['own'] }))
    await until('bob is told of his', () => good.received.length === 2)
    await until(
      'alice’s is exported',
      async () => (await stateOf(service, alice, 1)) === 'exported',
    )
    const told = JSON.parse(new URLSearchParams(good.received[1]!.body).get('payload')!)
    assert.deepEqual([told.action, told.migration.owner.login], ['exported', 'bob'])
  })
})

test('webhooks of an organization, by the client alone', async (t) => {
  const host = await makeHost(t)
  const service = await startInRow(t, { repositories: host.root, flags: NEAR })
  const token = await service.token('alice')
  const receiver = await webhookReceiver(t)
  const desk = await clientDesk(t, { url: service.url, token })
  const SECRET = 'whisper-it-softly'
  writeFileSync(join(desk.folder, 'secret'), `${SECRET}\n`)
  const webhook = async (code: number, ...args: string[]) => {
    const said = await desk.webhook(code, ...args, '--org', 'octo')
    assert.ok(!`${said.out}${said.err}`.includes(SECRET), 'the secret was said')
    return said
  }
  const address = `${receiver.url}/hook?key=in-the-address`

  const added = await webhook(0, 'add', address, '--secret-file', 'secret')
  assert.match(added.out, /^webhook 1 is active\naddress +http.*\nevents +migration\n/)
  assert.match(added.out, /^secret +set$/m)
  await until('the ping has come', () => receiver.received.length === 1)
  assert.match(receiver.received[0]!.headers['x-hub-signature-256'] as string, /^sha256=/)
  assert.equal(
    JSON.parse(receiver.received[0]!.body).hook.config.secret,
    '********',
    'never sent back',
  )
  await webhook(0, 'ping', '1')
  await until('another has come', () => receiver.received.length === 2)
  await until('both are listed', async () => {
    const { out } = await webhook(0, 'deliveries', '1')
    return out.split('\n').length === 3
  })
  const [newest] = JSON.parse((await webhook(0, 'deliveries', '1', '--json')).out)
  assert.deepEqual([newest.event, newest.status, newest.redelivery], ['ping', 'OK', false])
  assert.match((await webhook(0, 'deliveries', '1', String(newest.id))).out, /Response:\n/)
  await webhook(0, 'redeliver', '1', String(newest.id))
  await until('it has come again', () => receiver.received.length === 3)
  const edited = await webhook(0, 'edit', '1', '--events', 'migration.failed', '--no-secret')
  assert.match(edited.out, /events +migration\.failed\ncontent type +json\nsecret +none/)
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
