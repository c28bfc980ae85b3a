import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../test/support/databases.ts'
import { addresses } from '../../../test/support/description-server.ts'
import { repositoryFacts } from '../../../test/support/facts.ts'
import { saveFacts } from '../../repositories/facts-store.ts'
import {
  createRepositoryRenderer,
  createTextCache,
  findTokenPlaceholders,
  pushWithTokens,
} from './rendered-repositories.ts'
import {
  extendedRepositoryJson,
  plainRepositoryJson,
  repositoryTextRenderer,
} from './repository-json.ts'

test('a text is cached from its second request on, and uncached reads use the cache but add nothing', async (t) => {
  const { db } = await openDatabase(t, 'sqlite')
  const [id] = await db.transaction().execute((tx) => saveFacts(tx, [repositoryFacts()], 0))
  const rendered = createRepositoryRenderer(db, addresses)
  async function descriptionWhen(description: string, read: typeof rendered.read) {
    // Real facts never change. Changing them here shows which text comes from the cache.
    const facts = JSON.stringify(repositoryFacts({ description }))
    await db.updateTable('facts').set({ facts }).execute()
    const pieces = await read({ form: 'plain', tokenOf: undefined }, [id!])
    return JSON.parse(String(pieces[0]).slice(1)).description
  }
  const { read, readUncached } = rendered
  assert.equal(await descriptionWhen('first', readUncached), 'first')
  assert.equal(await descriptionWhen('second', readUncached), 'second')
  assert.equal(await descriptionWhen('third', read), 'third')
  assert.equal(await descriptionWhen('fourth', read), 'fourth')
  assert.equal(await descriptionWhen('fifth', read), 'fourth')
  assert.equal(await descriptionWhen('sixth', readUncached), 'fourth')
})

const LENGTH = 10
const textOf = (key: number) => ({ bytes: Buffer.from(String(key).padStart(LENGTH)) })

test('the newest texts are in the cache, which does not exceed its size', () => {
  const cache = createTextCache(20 * LENGTH)
  for (let key = 0; key < 1000; key++) {
    cache.set(key, textOf(key))
    assert.deepEqual(cache.get(key), textOf(key))
    const held = Array.from({ length: 1000 }, (_, each) => cache.get(each)).filter(Boolean)
    assert.ok(held.length <= 20, `${held.length} are held`)
  }
})

test('a repeated request is recognised unless very many others came in between', () => {
  const cache = createTextCache(LENGTH)
  assert.deepEqual([1, 2, 1, 2, 2].map(cache.recordRequest), [false, false, true, true, true])
  for (let key = 10; key < 100_000; key++) cache.recordRequest(key)
  assert.equal(cache.recordRequest(1), false)
})

/** Text that looks like a placeholder, with a character of more than one byte. */
const MISLEADING = 'ü "owner":"" "html_url":"" "temp_clone_token":"" \\"temp_clone_token\\":\\"\\"'

test('a clone token is inserted only into the JSON of its own private repository', () => {
  const tokenOf = (id: number) => Buffer.from(`token-${id}`)
  for (const form of ['extended', 'plain'] as const)
    for (const isPrivate of [true, false])
      for (const template of [null, true, false]) {
        const ofTemplate = { id: 8, description: MISLEADING, private: template ?? false }
        const facts = repositoryFacts({
          ...{ description: MISLEADING, topics: ['temp_clone_token', ':', ''], private: isPrivate },
          template: template === null ? null : repositoryFacts(ofTemplate),
        })
        const shown = [facts, { ...facts, id: 9 }]
        const jsonOf = form === 'plain' ? plainRepositoryJson : extendedRepositoryJson
        const json = shown.map((each) => jsonOf(each, addresses))
        const bytes = Buffer.from(JSON.stringify(json))
        const pieces: Buffer[] = []
        pushWithTokens(pieces, bytes, findTokenPlaceholders(bytes, form, shown), tokenOf)
        const expected = json.map((each) => ({
          ...each,
          ...(form === 'extended' && { temp_clone_token: isPrivate ? `token-${each.id}` : '' }),
          template_repository: each.template_repository && {
            ...each.template_repository,
            temp_clone_token: template ? 'token-8' : '',
          },
        }))
        assert.deepEqual(JSON.parse(String(Buffer.concat(pieces))), expected)
        const textOf = repositoryTextRenderer(addresses)
        const texts = shown.map((each) => textOf(form, each, tokenOf))
        assert.equal(`[${texts}]`, JSON.stringify(expected))
      }
})

test('the text of a repository is that of its JSON, whoever owns it', () => {
  const textOf = repositoryTextRenderer(addresses)
  const ada = repositoryFacts()
  const owner = { ...ada.owner, login: 'Grace', id: 7, siteAdmin: true }
  for (const facts of [
    ada,
    { ...ada, name: 'other', template: { ...ada, name: 'skeleton', owner } },
    { ...ada, owner, name: '...', mirrorOf: 'https://example.org/{name}' },
    { ...ada, owner: { ...owner, type: 'Organization' as const } },
  ]) {
    assert.equal(
      textOf('extended', facts),
      JSON.stringify(extendedRepositoryJson(facts, addresses)),
    )
    assert.equal(textOf('plain', facts), JSON.stringify(plainRepositoryJson(facts, addresses)))
  }
})
