import assert from 'node:assert/strict'
import { test } from 'node:test'
import { repositoryFacts } from '../../../../test/support/facts.ts'
import { randomNumbers } from '../../../../test/support/random-numbers.ts'
import { addressesFrom } from '../../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../../repositories/facts.ts'
import { extendedRepositoryJson, plainRepositoryJson } from './repository-json.ts'
import { repositoryText } from './repository-text.ts'

const places = [
  addressesFrom({
    baseUrl: 'https://git.example.com/api',
    webUrl: 'https://git.example.com/{owner}/{name}',
    cloneUrl: 'https://git.example.com/{owner}/{name}.git',
    sshUrl: 'git@git.example.com:{owner}/{name}.git',
  }),
  addressesFrom(
    {
      baseUrl: 'http://127.0.0.1:3000',
      webUrl: 'https://git.example.com/?p={owner}/{name}.git&"quoted"=\\',
      cloneUrl: '{name}',
      sshUrl: 'ssh://{name}@{owner}/{name}/{owner}',
    },
    '/api/v3',
  ),
]

const TEXTS = [
  '',
  'plain',
  'it\'s "quoted" \\ \n\t\u0000\u0001\u0003',
  'ünïcödé 🐦 \u2028 \ud800',
  '$& {owner}',
]

type Random = ReturnType<typeof randomNumbers>

function anyFacts(random: Random, depth = 0): RepositoryFacts {
  const among = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!
  const text = () => among(TEXTS) + among(TEXTS)
  const whole = () => Math.floor(random() * 2 ** 40)
  const facts: Record<string, unknown> = { ...repositoryFacts() }
  for (const [name, value] of Object.entries(facts)) {
    if (typeof value === 'boolean') facts[name] = random() < 0.5
    else if (typeof value === 'number') facts[name] = whole()
    else if (typeof value === 'string') facts[name] = text()
  }
  const owner = {
    id: whole(),
    login: text(),
    type: among(['User', 'Organization'] as const),
    siteAdmin: random() < 0.5,
    createdAt: whole(),
  }
  return {
    ...(facts as unknown as RepositoryFacts),
    owner,
    topics: Array.from({ length: Math.floor(random() * 4) }, text),
    homepage: among([null, text()]),
    language: among([null, text()]),
    license: among([null, 'MIT', 'GPL-3.0', text()]),
    mirrorOf: among([null, text()]),
    permissions: { admin: random() < 0.5, push: random() < 0.5, pull: true },
    template: depth === 0 && random() < 0.4 ? anyFacts(random, 1) : null,
  }
}

for (const [form, render] of [
  ['plain', plainRepositoryJson],
  ['extended', extendedRepositoryJson],
] as const) {
  test(`the ${form} text of any facts is what its renderer makes of them, to the byte`, () => {
    const random = randomNumbers(17)
    for (const addresses of places) {
      const text = repositoryText(form, addresses)
      for (let n = 0; n < 1000; n++) {
        const facts = anyFacts(random)
        assert.equal(text(facts), JSON.stringify(render(facts, addresses)))
      }
    }
  })

  test(`the ${form} text of facts that an older Godwit wrote down lacks what they lack`, () => {
    const text = repositoryText(form, places[0]!)
    const { disabled: _, ...older } = repositoryFacts()
    const facts = older as RepositoryFacts
    assert.equal(text(facts), JSON.stringify(render(facts, places[0]!)))
    assert.ok(!('disabled' in JSON.parse(text(facts))))
  })
}
