import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { openDatabase } from '../../../../test/support/databases.ts'
import { alice } from '../../../../test/support/repository-metadata.ts'
import type { ProcessDependencies } from './process-dependencies.ts'
import { openCloneTokens } from './service.ts'

const SETTINGS = {
  baseUrl: 'http://127.0.0.1:3000',
  cloneUrl: 'http://127.0.0.1:3000/{owner}/{name}.git',
  maxClones: 4,
}

test('clone tokens are issued only if this process serves the clone URL', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const log = pino({ level: 'silent' })
  const isIssued = async (settings: object, source: object | undefined) => {
    await using stack = new AsyncDisposableStack()
    const dependencies = { db, log, now: Date.now, source } as unknown as ProcessDependencies
    const tokens = await openCloneTokens({ ...SETTINGS, ...settings }, dependencies, stack)
    return tokens.for({ account: alice, tokenId: 1 }) !== undefined
  }
  const source = {}
  assert.equal(await isIssued({}, source), true)
  const baseUrl = 'https://git.example.com/api'
  assert.equal(await isIssued({ baseUrl }, source), false)
  const cloneUrl = `${baseUrl}/{owner}/{name}.git`
  assert.equal(await isIssued({ baseUrl, cloneUrl }, source), true)
  assert.equal(await isIssued({}, undefined), false)
  assert.equal(await isIssued({ maxClones: 0 }, source), false)
  const elsewhere = 'https://clone.example.com/{owner}/{name}.git'
  assert.equal(await isIssued({ cloneUrl: elsewhere }, source), false)
})
