import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { before, test } from 'node:test'
import { type ClientCommandLine, clientCommandLine } from '../support/client-command-line.ts'
import { DAMAGED_REPOSITORIES } from '../support/export-damage.ts'
import { type SharedStory, sharedExportStory } from '../support/export-story.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { slowGit } from '../support/slow-git.ts'
import { until } from '../support/wait-until.ts'

let story: SharedStory
let client: ClientCommandLine
let operatorToken: string
let slow: Awaited<ReturnType<typeof slowGit>>

const fileCleanup = cleanupAfterFile()

before(async () => {
  slow = await slowGit()
  fileCleanup.after(slow.remove)
  await slow.speedUp()
  story = await sharedExportStory(fileCleanup, {
    async repositories(host) {
      for (const name of ['atlas', 'birds']) {
        await host.repository(`alice/${name}`, { files: { name } })
      }
      DAMAGED_REPOSITORIES.grafted!.make(host.path('alice/grafted'))
    },
    flags: ['--git', slow.program],
  })
  await story.service.godwit('account', 'add', 'operator', '--site-admin')
  operatorToken = await story.service.token('operator')
  client = await clientCommandLine(fileCleanup, { url: story.service.url, token: operatorToken })
})

async function runAdmin(code: number, ...args: string[]): Promise<{ out: string; err: string }> {
  const ended = await client.godwit(['admin', ...args])
  assert.equal(ended.code, code, ended.output)
  return { out: ended.stdout.toString().trimEnd(), err: ended.stderr }
}

const untilAudited = (action: string, what: RegExp) =>
  until(`${action} is in the log with the operator and the object`, () =>
    story.service
      .log()
      .split('\n')
      .some(
        (line) =>
          line.includes(`"audit":"${action}"`) &&
          /"login":"operator"/.test(line) &&
          what.test(line),
      ),
  )

test('an operator cancels, retries and deletes migrations of others, and is named in the log', async () => {
  await slow.slowDown()
  const running = await story.start(['alice/atlas'], { lock_repositories: true })
  await slow.untilSlow()
  assert.match((await runAdmin(0, 'status')).out, /^migration 1 +alice +exporting /m)
  assert.equal(
    (await runAdmin(0, 'migration', 'cancel', String(running))).out,
    'migration 1 cancelled',
  )
  const state = async (id: number) =>
    ((await (await story.call(`/user/migrations/${id}/summary`)).json()) as { state: string }).state
  assert.equal(await state(running), 'cancelled')
  await untilAudited('admin.migration.cancel', /"migration":1,.*"owner":"alice"/)
  assert.match((await runAdmin(3, 'migration', 'cancel', String(running))).err, /already ended/)
  assert.match((await runAdmin(3, 'migration', 'cancel', '999')).err, /does not have migration 999/)

  await slow.speedUp()
  const failed = await story.migrate(['alice/birds', 'alice/grafted'], {}, 'failed')
  const retried = Number(
    (await runAdmin(0, 'migration', 'retry', String(failed.id), '--allow-partial')).out,
  )
  await story.untilEnded(retried, 'exported')
  await untilAudited('admin.migration.retry', /"owner":"alice"/)
  await runAdmin(0, 'migration', 'delete', String(retried))
  assert.equal((await story.call(`/user/migrations/${retried}/archive`)).status, 404)
  await untilAudited('admin.migration.delete_archive', /"owner":"alice"/)
})

test('an operator removes any lock and revokes any token', async () => {
  const locking = await story.migrate(['alice/atlas'], { lock_repositories: true })
  await assert.rejects(story.host.push('alice/atlas', { b: '2' }), /hidden ref/)
  assert.match((await runAdmin(2, 'lock', 'remove', 'alice/atlas/x')).err, /is not OWNER\/NAME/)
  await assert.rejects(story.host.push('alice/atlas', { b: '2' }), /hidden ref/)
  await runAdmin(0, 'lock', 'remove', 'alice/atlas')
  await story.host.push('alice/atlas', { b: '2' })
  assert.match((await runAdmin(3, 'lock', 'remove', 'alice/atlas')).err, /does not have a lock/)
  await untilAudited('admin.lock.release', /"repository":"alice\/atlas"/)
  assert.equal((await story.call(`/user/migrations/${locking.id}`)).status, 200)

  const token = await story.service.token('alice', '--name', 'lost')
  const { out } = await runAdmin(0, 'token', 'list')
  assert.ok(!out.includes('gwt_'))
  const [id] = /^\d+(?= +alice +lost +valid)/m.exec(out)!
  assert.equal((await story.service.call(token, '/user')).status, 200)
  await runAdmin(0, 'token', 'remove', id)
  assert.equal((await story.service.call(token, '/user')).status, 401)
  await untilAudited('admin.token.revoke', new RegExp(`"revoked":${id}`))
  await runAdmin(3, 'token', 'remove', id)
})

test('an operator revokes all tokens of an account, which also end its sessions', async () => {
  const { service } = story
  await service.godwit('account', 'add', 'bob')
  const tokens = [await service.token('bob', '--name', 'one'), await service.token('bob')]
  const body = JSON.stringify({ token: tokens[0] })
  const page = { 'x-godwit-session': '1' }
  const opened = await fetch(`${service.url}/session`, { method: 'POST', body, headers: page })
  const cookie = opened.headers.getSetCookie()[0]!.split(';')[0]!
  const status = async (headers: Record<string, string>) =>
    (await fetch(`${service.url}/user`, { headers: { ...page, ...headers } })).status
  assert.equal(await status({ cookie }), 200)
  await assert.rejects(service.godwit('token', 'remove'), /ID of a token, or --all-of LOGIN/)
  await assert.rejects(service.godwit('token', 'remove', '1', '--all-of', 'bob'), /or --all-of/)
  assert.equal(await service.godwit('token', 'remove', '--all-of', 'bob'), '2 tokens revoked')
  for (const headers of [{ cookie }, ...tokens.map((each) => ({ authorization: `token ${each}` }))])
    assert.equal(await status(headers), 401)
  assert.match(await service.godwit('token', 'list'), /^\d+ +bob +one +revoked +- /m)
})

test('a client lists its own tokens, and is told where to create others', async () => {
  await story.service.godwit('account', 'add', 'carol')
  const token = await story.service.token('carol', '--name', 'mine')
  const carol = await clientCommandLine(fileCleanup, { url: story.service.url, token })
  const { out, err } = await carol.migration(0, 'token', 'list')
  assert.match(out, /^\d+ +carol +mine +valid \(in use\) +- /m)
  assert.ok(!out.includes('gwt_') && !out.includes('bob'))
  assert.ok(err.includes(`create and revoke tokens in a browser, at ${story.service.url}/#/tokens`))
})

test('other users get 404 for the operator’s actions', async () => {
  const { id } = await story.migrate(['alice/birds'])
  for (const [method, path] of [
    ['POST', `/admin/migrations/${id}/cancel`],
    ['POST', `/admin/migrations/${id}/retry`],
    ['DELETE', `/admin/migrations/${id}/archive`],
    ['DELETE', '/admin/locks/alice/birds'],
    ['GET', '/admin/tokens'],
    ['DELETE', '/admin/tokens/1'],
    ['POST', '/admin/sync'],
  ] as const) {
    assert.equal((await story.call(path, { method })).status, 404, path)
  }
  assert.equal((await story.call(`/user/migrations/${id}/archive`)).status, 302)
})

test('a hook announces a new, a changed and a deleted repository', async () => {
  const { host, service } = story
  const settings = ['--data', service.data, '--repositories', host.root]
  const sync = async (...repositories: string[]) => {
    const body = JSON.stringify({ repositories })
    const response = await service.call(operatorToken, '/admin/sync', { method: 'POST', body })
    return { status: response.status, body: await response.json() }
  }
  const found = (changed: number, removed = 0, failed: object[] = []) => ({
    status: 200,
    body: { repositories: 1 - removed, changed, removed, failed },
  })
  const readPushTime = async () =>
    ((await (await story.call('/repos/alice/pushed')).json()) as { pushed_at?: string }).pushed_at

  await host.repository('alice/pushed', { files: { a: '1' } })
  assert.equal(await readPushTime(), undefined)
  assert.deepEqual(await sync('Alice/pushed'), found(1))
  assert.deepEqual(await sync('alice/pushed'), found(0))
  await untilAudited('catalogue.sync', /"repositories":\["alice\/pushed"\]/)
  const before = await readPushTime()
  await host.push('alice/pushed', { b: '2' }, { at: new Date('2024-05-06T07:08:09Z') })
  assert.deepEqual(await sync('alice/pushed'), found(1))
  assert.notEqual(await readPushTime(), before)
  await host.repository('alice/pushed.wiki', { files: { Home: '1' } })
  assert.deepEqual(await sync('alice/pushed.wiki'), found(1))
  assert.equal((await sync('alice/nothing.wiki')).status, 422)
  rmSync(host.path('alice/pushed.wiki'), { recursive: true })

  rmSync(host.path('alice/pushed'), { recursive: true })
  assert.deepEqual(await sync('alice/pushed'), found(0, 1))
  for (const [name, code] of [
    ['alice/pushed', 'missing'],
    ['alice', 'invalid'],
    ['../alice', 'invalid'],
  ] as const) {
    const { status, body } = await sync('alice/birds', name)
    assert.equal(status, 422)
    assert.deepEqual((body as { errors: unknown }).errors, [
      { resource: 'Repository', field: 'repositories', code, index: 1 },
    ])
  }

  await host.repository('alice/pushed', { files: { a: '1' } })
  const ended = await client.godwit(['sync', 'alice/pushed', '--json', ...settings])
  assert.equal(ended.code, 0, ended.output)
  assert.equal((JSON.parse(ended.stdout.toString()) as { changed: number }).changed, 1)
  const unknown = await client.godwit(['sync', 'alice/none', ...settings])
  assert.equal(unknown.code, 1, unknown.output)
  assert.match(unknown.output, /skipped: alice\/none: does not exist/)
  assert.equal((await client.godwit(['sync', 'alice', ...settings])).code, 2)
  rmSync(host.path('alice/pushed'), { recursive: true })
  await sync('alice/pushed')
})

test('check verifies repositories at the source, and the operator sees the result', async () => {
  const damage = DAMAGED_REPOSITORIES['lost-blob']!
  damage.make(story.host.path('bob/lost'))
  const settings = ['--data', story.service.data, '--repositories', story.host.root]
  const ended = await client.godwit(['check', ...settings])
  assert.equal(ended.code, 1, ended.output)
  assert.match(ended.stderr, /^failed: alice\/grafted: .*grafts/m)
  assert.match(ended.stderr, new RegExp(`^failed: bob/lost: .*${damage.reason.source}`, 'm'))
  assert.match(ended.stdout.toString(), /^2 passed, 0 warnings, 2 failed; .* read$/m)
  assert.match(ended.stderr, /2 of 4 repositories cannot be exported/)

  const { checks } = (await (await story.service.call(operatorToken, '/admin/service')).json()) as {
    checks: { passed: number; failed: number; problems: { full_name: string }[] }
  }
  assert.deepEqual([checks.passed, checks.failed], [2, 2])
  assert.deepEqual(checks.problems.map(({ full_name }) => full_name).sort(), [
    'alice/grafted',
    'bob/lost',
  ])

  // A repaired repository passes, and the findings of the others stay.
  await story.host.recreate('bob/lost', { a: '1' })
  const one = await client.godwit(['check', 'bob/lost', '--json', ...settings])
  assert.equal(one.code, 0, one.output)
  const [result] = JSON.parse(one.stdout.toString()) as Record<string, unknown>[]
  assert.deepEqual(
    [result?.full_name, result?.outcome, result?.reason],
    ['bob/lost', 'passed', null],
  )
  assert.ok(Number(result?.bytes) > 0)
  assert.equal((await client.godwit(['check', 'bob/none', ...settings])).code, 1)
})
