import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { pino } from 'pino'
import { alice } from '../../../../test/support/facts.ts'
import { NotFound } from '../../../migrations/errors.ts'
import type { Source } from '../../../sources/source.ts'
import { Unreadable } from '../../../sources/unreadable.ts'
import { HttpError } from '../../middleware/http-errors.ts'
import { createSourceReader } from './source-reader.ts'

type Languages = Awaited<ReturnType<Source['languages']>>

/** A source whose answers are given by the test, one by one. */
function slowSource() {
  const stamps = new Map<string, string>()
  const asked: { name: string; answer: PromiseWithResolvers<Languages> }[] = []
  const source: Partial<Source> = {
    find: async (owner, name) => ({
      owner,
      name,
      stamp: stamps.get(name) ?? 'first',
      hasWiki: false,
    }),
    languages({ name }) {
      const answer = Promise.withResolvers<Languages>()
      asked.push({ name, answer })
      return answer.promise
    },
  }
  const reader = createSourceReader({ source: source as Source, log: pino({ level: 'silent' }) })
  const ask = (id: number) => reader.languages({ id, owner: alice, name: `r${id}` })
  const names = () => asked.map(({ name }) => name)
  return { asked, stamps, ask, names }
}

/** Long enough for all that waits for nothing else. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await turn()
}

test('two repositories are read at a time, in the order of the requests', async () => {
  const { asked, ask, names } = slowSource()
  const answers = [1, 2, 3, 4].map(ask)
  await settle()
  assert.deepEqual(names(), ['r1', 'r2'])
  asked[1]!.answer.resolve({ C: 2 })
  assert.deepEqual(await answers[1], { C: 2 })
  await settle()
  assert.deepEqual(names(), ['r1', 'r2', 'r3'])
  asked[0]!.answer.reject(new Unreadable('gone'))
  await assert.rejects(answers[0]!, NotFound)
  await settle()
  assert.deepEqual(names(), ['r1', 'r2', 'r3', 'r4'])
  for (const { answer } of asked.slice(2)) answer.resolve({})
  await Promise.all(answers.slice(1))
})

test('a result is cached until the repository changes', async () => {
  const { asked, stamps, ask } = slowSource()
  const both = [ask(1), ask(1)]
  await settle()
  assert.equal(asked.length, 1)
  asked[0]!.answer.resolve({ C: 1 })
  assert.deepEqual(await Promise.all([...both, ask(1)]), [{ C: 1 }, { C: 1 }, { C: 1 }])
  assert.equal(asked.length, 1)
  stamps.set('r1', 'second')
  const changed = ask(1)
  await settle()
  asked[1]!.answer.resolve({ C: 2 })
  assert.deepEqual(await changed, { C: 2 })
})

test('a failure is not cached', async () => {
  const { asked, ask } = slowSource()
  const failed = ask(1)
  await settle()
  asked[0]!.answer.reject(new Error('the disk'))
  await assert.rejects(failed, /the disk/)
  const again = ask(1)
  await settle()
  asked[1]!.answer.resolve({ C: 1 })
  assert.deepEqual(await again, { C: 1 })
})

test('a request is refused if a hundred are waiting', async () => {
  const { asked, ask } = slowSource()
  const waiting = Array.from({ length: 102 }, (_, id) => ask(id))
  await settle()
  await assert.rejects(ask(1000), (error) => error instanceof HttpError && error.status === 503)
  for (let at = 0; at < waiting.length; at++) {
    await settle()
    asked[at]!.answer.resolve({})
  }
  await Promise.all(waiting)
  const last = ask(1000)
  await settle()
  asked.at(-1)!.answer.resolve({ C: 1 })
  assert.deepEqual(await last, { C: 1 })
})
