import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../../../../test/support/databases.ts'
import { failedLogins } from './authenticate.ts'
import { createRateLimit } from './rate-limit.ts'
import { addressKey } from './request.ts'

test('an IPv6 address counts as its /64 network or the IPv4 address in it, in every spelling', () => {
  const keys = {
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '::FFFF:c000:201': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:0DB8:1:2::': '2001:db8:1:2::/64',
    '2001:db8::1': '2001:db8:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
    '::1': '0:0:0:0::/64',
    '64:ff9b::192.0.2.1': '192.0.2.1',
  }
  for (const [address, key] of Object.entries(keys)) assert.equal(addressKey(address), key)
})

test('texts that are not addresses share one key', () => {
  for (const text of ['', 'unknown', '1::2::3', '1:2:3', 'x::1', '1:2:3:4:5:6:7:8:9', '::12345'])
    assert.equal(addressKey(text), 'unknown')
})

const nth = (n: number) => `2001:db8:7:7::${n.toString(16)}`
const reply = { header: () => reply } as never

test('addresses of one /64 share the rate limits of addresses', async () => {
  const limit = createRateLimit({ perHour: 60, pool: undefined }, () => 0)
  for (let n = 1; n <= 60; n++) {
    await limit.count({ viewer: null, ip: nth(n) }, reply)
    await limit.countAddress(nth(n), reply)
  }
  await assert.rejects(limit.count({ viewer: null, ip: nth(61) }, reply), { status: 403 })
  await assert.rejects(limit.countAddress(nth(61), reply), { status: 403 })
  await limit.count({ viewer: null, ip: '2001:db8:7:8::1' }, reply)
  await limit.countAddress('2001:db8:7:8::1', reply)
})

test('addresses of one /64 share the limit of failed logins', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const log = pino({ level: 'silent' })
  const logins = failedLogins({ authenticator: {} as never, now: () => 0, db, log })
  const statusOfFailure = (ip: string) => logins.refuse(ip).catch((error) => error.status)
  for (let n = 1; n <= 61; n++) assert.equal(await statusOfFailure(nth(n)), 401)
  assert.equal(await statusOfFailure(nth(62)), 403)
  assert.equal(await statusOfFailure('2001:db8:7:8::1'), 401)
})

test('an address with many failed sign-ins cannot make this server call another one at will', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const log = pino({ level: 'silent' })
  const logins = failedLogins({ authenticator: {} as never, now: () => 0, db, log })
  let calls = 0
  const attempts = Array.from({ length: 200 }, () =>
    logins
      .verify(nth(1), async () => {
        calls++
        throw Object.assign(new Error('invented code'), { status: 401 })
      })
      .catch((error) => error.status),
  )
  await logins.verify('192.0.2.1', async () => assert.equal(calls, 60))
  const statuses = await Promise.all(attempts)
  assert.equal(calls, 110)
  assert.equal(statuses.filter((status) => status === 403).length, 90)
  assert.equal(await logins.verify(nth(2), async () => 'signed in'), 'signed in')
})
