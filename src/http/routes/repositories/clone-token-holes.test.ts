import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addresses } from '../../../../test/support/describing-server.ts'
import { repositoryFacts } from '../../../../test/support/facts.ts'
import { holesIn, pushWithTokens } from './clone-token-holes.ts'
import { extendedRepositoryJson, plainRepositoryJson } from './repository-json.ts'

const RENDERERS = { extended: extendedRepositoryJson, plain: plainRepositoryJson }

/** Texts that look like the place of a token, and letters of more than one byte. */
const ODD = 'ü "temp_clone_token":"" \\"temp_clone_token\\":\\"\\"'

test('a token stands in the record of its repository, and nowhere else, whatever is written there', () => {
  const tokenOf = (id: number) => Buffer.from(`token-${id}`)
  for (const form of ['extended', 'plain'] as const)
    for (const isPrivate of [true, false])
      for (const template of [null, true, false]) {
        const ofTemplate = { id: 8, description: ODD, private: template ?? false }
        const facts = repositoryFacts({
          ...{ description: ODD, topics: ['temp_clone_token', ':', ''], private: isPrivate },
          template: template === null ? null : repositoryFacts(ofTemplate),
        })
        const shown = [facts, { ...facts, id: 9 }]
        const json = shown.map((each) => RENDERERS[form](each, addresses))
        const bytes = Buffer.from(JSON.stringify(json))
        const pieces: Buffer[] = []
        pushWithTokens(pieces, bytes, holesIn(bytes, form, shown), tokenOf)
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
