import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../test/support/databases.ts'
import { alice } from '../../test/support/facts.ts'
import { readConfig } from '../settings/config.ts'
import { keepCloneTokens } from './clone-key.ts'
import type { ProcessParts } from './process-parts.ts'

test('tokens to clone with are given only where this process serves the address of clones', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const log = pino({ level: 'silent' })
  const given = async (flags: Parameters<typeof readConfig>[0], source: object | undefined) => {
    await using stack = new AsyncDisposableStack()
    const parts = { db, log, now: Date.now, source } as unknown as ProcessParts
    const tokens = await keepCloneTokens(readConfig(flags, {}), parts, stack)
    return tokens.for({ account: alice, tokenId: 1 }) !== undefined
  }
  const source = {}
  assert.equal(await given({}, source), true)
  assert.equal(await given({ baseUrl: 'https://git.example.com/api' }, source), true)
  assert.equal(await given({}, undefined), false)
  assert.equal(await given({ maxClones: '0' }, source), false)
  assert.equal(await given({ webUrl: 'https://forge.example.com/{owner}/{name}' }, source), false)
  const elsewhere = 'https://clone.example.com/{owner}/{name}.git'
  assert.equal(await given({ cloneUrl: elsewhere }, source), false)
})
