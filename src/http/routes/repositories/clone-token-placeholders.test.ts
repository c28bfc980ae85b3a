import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addresses } from '../../../../test/support/description-server.ts'
import { repositoryFacts } from '../../../../test/support/facts.ts'
import { findTokenPlaceholders, pushWithTokens } from './clone-token-placeholders.ts'
import { repositoryJson } from './repository-json.ts'

/** Text that looks like a placeholder, with a character of more than one byte. */
const MISLEADING = 'ü "temp_clone_token":"" \\"temp_clone_token\\":\\"\\"'

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
        const json = shown.map((each) => repositoryJson(form, each, addresses))
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
      }
})
