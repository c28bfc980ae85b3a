import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import {
  type Engine,
  onEachEngine,
  openDatabase,
} from '../../../../../../test/support/databases.ts'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../../../test/support/description-server.ts'
import type { AuditEntry } from '../../../../../contract/src/schemas/types.ts'
import { ensureAccount, upsertAccount } from '../../../accounts/account-store.ts'
import { audited, NOT_SIGNED_IN, sweepAudit, THE_SERVICE } from '../../../accounts/audit-log.ts'
import { createAuthenticator } from '../../../accounts/authenticator.ts'
import { addToken, listTokens } from '../../../accounts/token-store.ts'
import { embeddedQueue } from '../../../queue/embedded.ts'

const AT = Date.UTC(2026, 0, 1)
const DAY = 24 * 3_600_000

async function scene(t: TestContext, engine: Engine) {
  const { db } = await openDatabase(t, engine)
  const clock = { now: AT }
  const now = () => clock.now
  const text: string[] = []
  const log = pino({ base: null }, { write: (line: string) => text.push(line) })
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
    ...{ db, now, log, queue: embeddedQueue({ db }), maxTokens: 9, trustedProxies: ['127.0.0.1'] },
    authenticator: createAuthenticator({ db, now }),
    isIndexRead: () => true,
    isWebhookAllowed: () => true,
  })
  const alice = await ensureAccount(db, 'alice', AT)
  const boss = await upsertAccount(db, 'boss', { siteAdmin: true }, AT)
  const tokenOf = (account: typeof alice) =>
    addToken(db, account, { name: `${account.login}'s laptop`, expiresAt: null, now: AT })
  const [ofAlice, ofBoss] = [await tokenOf(alice), await tokenOf(boss)]

  const send = (
    method: 'GET' | 'POST' | 'DELETE' | 'PATCH',
    url: string,
    token: string,
    { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
  ) =>
    app.inject({
      method,
      url,
      headers: {
        ...(token && { authorization: `bearer ${token}` }),
        'user-agent': 'test',
        'x-forwarded-for': '203.0.113.9',
        ...headers,
      },
      ...(body && { payload: JSON.stringify(body) }),
    })
  const list = async (query = '', token = ofBoss, path = '/admin/audit') => {
    const response = await send('GET', `${path}${query}`, token)
    assert.equal(response.statusCode, 200, response.body)
    return response.json() as AuditEntry[]
  }
  return { db, clock, now, log, text, alice, boss, ofAlice, ofBoss, send, list }
}

const SECRET = 'canary-5d1c9a'
const HOOK = { config: { url: `https://hooks.example.com/${SECRET}`, secret: SECRET } }

onEachEngine('the audit log', (engine, testOnSqlite) => {
  test('names actor, token, address behind the proxy, action and subject, and never a secret', async (t) => {
    const { db, ofAlice, ofBoss, text, send, list } = await scene(t, engine)
    const created = await send('POST', '/user/hooks', ofAlice, { body: HOOK })
    assert.equal(created.statusCode, 201, created.body)
    const page = { 'x-godwit-session': '1' }
    const bad = await send('POST', '/session', '', { headers: page, body: { token: SECRET } })
    assert.equal(bad.statusCode, 401)
    assert.equal((await send('GET', '/user', `gwt_${SECRET}`)).statusCode, 401)
    assert.equal((await send('DELETE', '/admin/tokens/2', ofAlice)).statusCode, 404)
    const opened = await send('POST', '/session', '', { headers: page, body: { token: ofAlice } })
    const cookie = String(opened.headers['set-cookie']).split(';')[0]!
    const body = { name: 'ci', expires_in_days: 1 }
    const made = await send('POST', '/user/tokens', '', { headers: { ...page, cookie }, body })
    assert.equal(made.statusCode, 201, made.body)
    const entries = await list()
    const address = '203.0.113.9'
    const token = "alice's laptop"
    const all = entries.map(({ id, at, details, ...entry }) => entry)
    assert.deepEqual(all, [
      entry('alice', 'token.create', 'token 3', { token }),
      entry('alice', 'session.open', null, { token }),
      entry('alice', 'admin.access', 'DELETE /admin/tokens/:token_id', {
        token,
        outcome: 'refused',
      }),
      entry('not signed in', 'token.use', null, { outcome: 'refused' }),
      entry('not signed in', 'session.open', null, { outcome: 'refused' }),
      entry('alice', 'webhook.create', 'webhook 1', { token }),
    ])
    assert.deepEqual(entries.at(-1)!.details, { webhook: 1, host: 'hooks.example.com' })

    const rows = JSON.stringify(await db.selectFrom('audit_log').selectAll().execute())
    const lines = text.filter((line) => line.includes('"audit"')).join('')
    assert.equal(lines.split('\n').length - 1, all.length)
    const secrets = [SECRET, ofAlice, ofBoss, cookie.split('=')[1]!, made.json().token as string]
    for (const secret of secrets)
      for (const where of [rows, lines]) assert.equal(where.includes(secret), false, secret)

    function entry(
      actor: string,
      action: string,
      subject: string | null,
      more: Partial<AuditEntry>,
    ) {
      return { actor, token: null, address, action, subject, outcome: 'done', ...more }
    }
  })

  testOnSqlite('names the account whose revoked token was refused', async (t) => {
    const { ofAlice, ofBoss, send, list } = await scene(t, engine)
    assert.equal((await send('DELETE', '/admin/tokens/1', ofBoss)).statusCode, 204)
    assert.equal((await send('GET', '/user', ofAlice)).statusCode, 401)
    const [{ actor, token, action, outcome }] = (await list()) as [AuditEntry]
    assert.deepEqual(
      [actor, token, action, outcome],
      ['alice', "alice's laptop", 'token.use', 'refused'],
    )
  })

  test('a change fails, and has no effect, if its entry cannot be written', async (t) => {
    const { db, ofAlice, ofBoss, text, send } = await scene(t, engine)
    await sql`alter table audit_log rename to moved_audit_log`.execute(db)
    assert.equal((await send('DELETE', '/admin/tokens/1', ofBoss)).statusCode, 500)
    assert.equal((await send('POST', '/user/hooks', ofAlice, { body: HOOK })).statusCode, 500)
    assert.equal((await listTokens(db))[0]!.revokedAt, null)
    assert.deepEqual(await db.selectFrom('webhooks').selectAll().execute(), [])
    assert.equal(
      text.some((line) => line.includes('"audit"')),
      false,
    )
    // A refused attempt is still refused, and then only in the log.
    assert.equal((await send('GET', '/admin/audit', ofAlice)).statusCode, 404)
    assert.match(text.join(''), /"audit":"admin.access".*"outcome":"refused"/)
  })

  test('is listed by filters and pages, to accounts without the addresses of others, and swept by age', async (t) => {
    const { db, clock, now, alice, boss, ofAlice, ofBoss, send, list } = await scene(t, engine)
    const record = (actor: Parameters<typeof audited>[1], day: number, subject: string) => {
      clock.now = AT + day * DAY
      const about = { subject, owner: alice }
      return audited({ now }, actor, (write) => write(db, 'migration.start', about))
    }
    const self = { login: 'alice', accountId: alice.id, address: '192.0.2.1' }
    const admin = { login: 'boss', accountId: boss.id, address: '192.0.2.2' }
    for (let day = 0; day < 7; day++) await record(self, day, `migration ${day}`)
    await record(admin, 7, 'migration 7')
    await record(THE_SERVICE, 8, 'migration 8')
    await audited({ now }, NOT_SIGNED_IN, (write) => write(db, 'archive.download'))

    const subjects = async (query: string) => (await list(query)).map(({ subject }) => subject)
    assert.deepEqual(await subjects('?actor=BOSS'), ['migration 7'])
    assert.deepEqual(await subjects('?actor=the+service&action=migration.start'), ['migration 8'])
    assert.deepEqual(await subjects('?subject=migration+3'), ['migration 3'])
    assert.deepEqual(await subjects('?since=2026-01-02&until=2026-01-04T00:00:00Z'), [
      'migration 2',
      'migration 1',
    ])
    assert.deepEqual(await subjects('?since=2026-01-02T01:00+0100&until=2026-01-03T00:00:00.5Z'), [
      'migration 2',
      'migration 1',
    ])
    // `Date.parse` accepts these times, too.
    const times = ['?since=1', '?until=day+5', '?since=05/04/2026', '?since=2026-01-02T00:00:00']
    const days = ['?since=2026-02-30', '?until=2026-04-31T00:00:00Z', '?until=2026-01-32']
    const texts = ['?actor=%00', '?subject=migration+%00', '?actor=alice&actor=bob']
    for (const query of [...times, ...days, ...texts]) {
      const response = await send('GET', `/admin/audit${query}`, ofBoss)
      assert.equal(response.statusCode, 422, query)
    }
    for (const name of ['alice/%00', '%00/site', 'alice/a%2Fb']) {
      const { statusCode } = await send('DELETE', `/admin/locks/${name}`, ofBoss)
      assert.equal(statusCode, 404, name)
    }

    for (const cursor of ['abc', String(AT), `${AT}-`, `${AT}-1&cursor=${AT}-1`]) {
      const response = await send('GET', `/user/audit?cursor=${cursor}`, ofAlice)
      assert.equal(response.statusCode, 422, cursor)
      const errors = [{ resource: 'Audit', field: 'cursor', code: 'invalid' }]
      assert.deepEqual(response.json().errors, errors)
    }

    const pages: string[] = []
    for (let next: string | undefined = '/user/audit?per_page=4&cursor='; next; ) {
      const response = await send('GET', next, ofAlice)
      const entries = response.json() as AuditEntry[]
      pages.push(entries.map(({ subject, address }) => `${subject} ${address}`).join())
      const link = /<https:\/\/git\.host\.test\/api(.*)>; rel="next"/.exec(
        String(response.headers.link),
      )
      next = link?.[1]
    }
    const own = (day: number) => `migration ${day} 192.0.2.1`
    assert.deepEqual(pages, [
      ['migration 8 null', 'migration 7 null', own(6), own(5)].join(),
      [own(4), own(3), own(2), own(1)].join(),
      own(0),
    ])
    const headers = { accept: 'application/x-ndjson' }
    const lines = await send('GET', '/admin/audit?actor=alice', ofBoss, { headers })
    const parsed = lines.body
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditEntry)
    assert.deepEqual(parsed, await list('?actor=alice'))

    await sweepAudit(db, { now: AT + 10 * DAY, retentionMs: 5 * DAY, rowsAtOnce: 2 })
    assert.deepEqual(await subjects('?actor=alice'), ['migration 6', 'migration 5'])
  })
})
