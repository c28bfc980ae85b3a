import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { alice } from '../../../../../../test/support/repository-metadata.ts'
import { Unreadable } from '../../../../../git/src/unreadable.ts'
import type { Source } from '../../../../../hosts/src/source.ts'
import { NotFound } from '../../../../../lib/src/request-errors.ts'
import { HttpError } from '../../middleware/http-errors.ts'
import { ClientDisconnected } from '../../middleware/response-stream.ts'
import { createSourceReader } from './source-reader.ts'

type Languages = Awaited<ReturnType<Source['languages']>>

const connected = new AbortController().signal

/** Returns a reader of a source whose pending reads are resolved by the test. */
function slowSource() {
  const changeTokens = new Map<string, string>()
  const reads: { name: string; result: PromiseWithResolvers<Languages> }[] = []
  const source: Partial<Source> = {
    find: async (owner, name) => ({
      owner,
      name,
      changeToken: changeTokens.get(name) ?? 'first',
      hasWiki: false,
    }),
    languages({ name }) {
      const result = Promise.withResolvers<Languages>()
      reads.push({ name, result })
      return result.promise
    },
  }
  const reader = createSourceReader({ source: source as Source, log: pino({ level: 'silent' }) })
  const readLanguages = (id: number, { caller = `caller ${id}`, signal = connected } = {}) =>
    reader.languages({ caller, signal }, { id, owner: alice, name: `r${id}` })
  const names = () => reads.map(({ name }) => name)
  return { reads, changeTokens, readLanguages, names }
}

/** Waits until all work has ended that does not wait for a pending read. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await turn()
}

test('two repositories are read at a time, in the order of the requests', async () => {
  const { reads, readLanguages, names } = slowSource()
  const results = [1, 2, 3, 4].map((id) => readLanguages(id))
  await settle()
  assert.deepEqual(names(), ['r1', 'r2'])
  reads[1]!.result.resolve({ C: 2 })
  assert.deepEqual(await results[1], { C: 2 })
  await settle()
  assert.deepEqual(names(), ['r1', 'r2', 'r3'])
  reads[0]!.result.reject(new Unreadable('it no longer exists'))
  await assert.rejects(results[0]!, NotFound)
  await settle()
  assert.deepEqual(names(), ['r1', 'r2', 'r3', 'r4'])
  for (const { result } of reads.slice(2)) result.resolve({})
  await Promise.all(results.slice(1))
})

test('a result is cached until the repository changes', async () => {
  const { reads, changeTokens, readLanguages } = slowSource()
  const both = [readLanguages(1), readLanguages(1)]
  await settle()
  assert.equal(reads.length, 1)
  reads[0]!.result.resolve({ C: 1 })
  assert.deepEqual(await Promise.all([...both, readLanguages(1)]), [{ C: 1 }, { C: 1 }, { C: 1 }])
  assert.equal(reads.length, 1)
  changeTokens.set('r1', 'second')
  const changed = readLanguages(1)
  await settle()
  reads[1]!.result.resolve({ C: 2 })
  assert.deepEqual(await changed, { C: 2 })
})

test('a failure is not cached', async () => {
  const { reads, readLanguages } = slowSource()
  const failed = readLanguages(1)
  await settle()
  reads[0]!.result.reject(new Error('the disk'))
  await assert.rejects(failed, /the disk/)
  const again = readLanguages(1)
  await settle()
  reads[1]!.result.resolve({ C: 1 })
  assert.deepEqual(await again, { C: 1 })
})

test('a caller with many reads delays only itself', async () => {
  const { reads, readLanguages, names } = slowSource()
  const many = [1, 2, 3].map((id) => readLanguages(id, { caller: 'many' }))
  await settle()
  const other = readLanguages(4)
  await settle()
  assert.deepEqual(names(), ['r1', 'r4'])
  for (let at = 0; at < 4; at++) {
    await settle()
    reads[at]!.result.resolve({})
  }
  await Promise.all([...many, other])
})

test('a read is not started if its client disconnects while it waits', async () => {
  const { reads, readLanguages, names } = slowSource()
  const running = [1, 2].map((id) => readLanguages(id))
  await settle()
  const client = new AbortController()
  const left = readLanguages(3, { signal: client.signal })
  const sameRead = readLanguages(3, { caller: 'another' })
  await settle()
  client.abort(new ClientDisconnected())
  await assert.rejects(left, ClientDisconnected)
  reads[0]!.result.resolve({})
  await settle()
  assert.deepEqual(names(), ['r1', 'r2', 'r3'])
  for (const { result } of reads.slice(1)) result.resolve({ C: 3 })
  assert.deepEqual(await sameRead, { C: 3 })
  await Promise.all(running)
})

test('a request is refused if two hundred are waiting', async () => {
  const { reads, readLanguages } = slowSource()
  const waiting = Array.from({ length: 202 }, (_, id) => readLanguages(id))
  await settle()
  await assert.rejects(
    readLanguages(1000),
    (error) => error instanceof HttpError && error.status === 503,
  )
  for (let at = 0; at < waiting.length; at++) {
    await settle()
    reads[at]!.result.resolve({})
  }
  await Promise.all(waiting)
  const last = readLanguages(1000)
  await settle()
  reads.at(-1)!.result.resolve({ C: 1 })
  assert.deepEqual(await last, { C: 1 })
})
