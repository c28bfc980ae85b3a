import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../test/support/databases.ts'
import { alice } from '../../test/support/facts.ts'
import { readConfig } from '../settings/config.ts'
import type { ProcessParts } from './process-parts.ts'
import { openCloneTokens } from './service.ts'

test('clone tokens are issued only if this process serves the clone URL', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const log = pino({ level: 'silent' })
  const isIssued = async (flags: Parameters<typeof readConfig>[0], source: object | undefined) => {
    await using stack = new AsyncDisposableStack()
    const parts = { db, log, now: Date.now, source } as unknown as ProcessParts
    const tokens = await openCloneTokens(readConfig(flags, {}), parts, stack)
    return tokens.for({ account: alice, tokenId: 1 }) !== undefined
  }
  const source = {}
  assert.equal(await isIssued({}, source), true)
  assert.equal(await isIssued({ baseUrl: 'https://git.example.com/api' }, source), true)
  assert.equal(await isIssued({}, undefined), false)
  assert.equal(await isIssued({ maxClones: '0' }, source), false)
  assert.equal(
    await isIssued({ webUrl: 'https://forge.example.com/{owner}/{name}' }, source),
    false,
  )
  const elsewhere = 'https://clone.example.com/{owner}/{name}.git'
  assert.equal(await isIssued({ cloneUrl: elsewhere }, source), false)
})
