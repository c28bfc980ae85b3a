import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import { ensureAccount } from '../src/accounts/account-store.ts'
import { createAuthenticator } from '../src/accounts/authenticator.ts'
import { addToken } from '../src/accounts/token-store.ts'
import { archiveLinks } from '../src/http/routes/migrations/archive-download.ts'
import { openDatabase } from './support/databases.ts'

test('a token is looked up by its digest alone, and what cannot be one is not looked up', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const account = await ensureAccount(db, 'alice', 0)
  const token = await addToken(db, account, { name: '', expiresAt: null, now: 0 })
  const asked: string[] = []
  const watched = db.withPlugin({
    transformQuery({ node }) {
      asked.push(JSON.stringify(node))
      return node
    },
    transformResult: async ({ result }) => result,
  })
  const { viewerOf } = createAuthenticator({ db: watched, now: () => 1 })
  const almost = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
  for (const wrong of [almost, token.toLowerCase(), `${token}0`, '', 'gwt_'])
    assert.equal(await viewerOf(wrong), undefined)
  assert.deepEqual(asked, [])
  assert.equal((await viewerOf(token))?.account.login, 'alice')
  assert.equal(asked.length, 1)
  const [query = ''] = asked as string[]
  assert.match(query, /"digest"/)
  assert.ok(!query.includes(token.slice(4)))
})

test('a signature is compared in constant time', (t) => {
  const compare = t.mock.method(crypto, 'timingSafeEqual')
  syncBuiltinESMExports()
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const links = archiveLinks('http://x', Buffer.alloc(32), 300_000)
  const expires = '9999999999'
  assert.equal(links.isValid('guid', { expires, sig: '0'.repeat(64) }, 0), false)
  assert.equal(compare.mock.callCount(), 1)
})
