import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { KeptInMemory } from '../../../../test/support/forge/kept-in-memory.ts'
import { addManyIssues } from '../../../../test/support/forge/many-issues.ts'
import { GITEA_1_22 } from '../../../../test/support/forge/render.ts'
import { startForge } from '../../../../test/support/forge/stand-in-forge.ts'
import { readingOf } from '../../discussions.ts'
import { forgeDiscussions } from './forge-discussions.ts'

describe('a token that does not administer the repository', async () => {
  const forge = await startForge({ dialect: GITEA_1_22 })
  const { name } = addManyIssues(forge, 1)
  after(() => forge.stop())

  const read = async () => {
    const kept = new KeptInMemory()
    await kept.readAll(forgeDiscussions({ url: forge.url, token: 'admin-token' }), name)
    return { kept, notes: readingOf(kept.cursor)?.notes.join() ?? '' }
  }
  const forbidden = { answer: { status: 403, body: {} } }

  it('reads collaborators without their permissions, with a note', async () => {
    const bob = { id: 99, login: 'bob', avatar_url: '' }
    forge.misbehave = ({ path }) => {
      if (path.endsWith('/permission')) return forbidden
      return path.endsWith('/collaborators') ? { answer: { status: 200, body: [bob] } } : undefined
    }
    const { kept, notes } = await read()
    const [repository] = kept.facts('repositories')
    assert.deepEqual(repository?.collaborators, [{ login: 'bob', permission: 'write' }])
    assert.match(notes, /does not tell permissions of collaborators/)
  })

  it('reads everything else if it may not see collaborators, with a note', async () => {
    forge.misbehave = ({ path }) => (path.endsWith('/collaborators') ? forbidden : undefined)
    const { kept, notes } = await read()
    assert.deepEqual(kept.facts('repositories')[0]?.collaborators, [])
    assert.match(notes, /does not give collaborators/)
  })
})
