import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { startForge } from '../../../../../test/support/forge/fake-forge.ts'
import { addManyIssues } from '../../../../../test/support/forge/many-issues.ts'
import { MemoryDiscussionStore } from '../../../../../test/support/forge/memory-discussion-store.ts'
import { GITEA_1_22 } from '../../../../../test/support/forge/render.ts'
import { readStateOf } from '../../discussions.ts'
import { forgeDiscussions } from './forge-discussions.ts'

describe('with a token that has no admin permission on the repository', async () => {
  const forge = await startForge({ dialect: GITEA_1_22 })
  const { name } = addManyIssues(forge, 1)
  after(() => forge.stop())

  const read = async () => {
    const store = new MemoryDiscussionStore()
    await store.readAll(forgeDiscussions({ url: forge.url, token: 'admin-token' }), name)
    return { store, notes: readStateOf(store.cursor)?.notes.join() ?? '' }
  }
  /** The response of a forge to such a token. */
  const forbidden = { response: { status: 403, body: {} } }

  it('collaborators are assumed to have read permission, with a note', async () => {
    const bob = { id: 99, login: 'bob', avatar_url: '' }
    forge.faultFor = ({ path }) => {
      if (path.endsWith('/permission')) return forbidden
      return path.endsWith('/collaborators')
        ? { response: { status: 200, body: [bob] } }
        : undefined
    }
    const { store, notes } = await read()
    const [repository] = store.records('repositories')
    assert.deepEqual(repository?.collaborators, [{ login: 'bob', permission: 'read' }])
    assert.match(notes, /does not return the permissions of collaborators/)
  })

  it('collaborators that cannot be listed are left out, with a note', async () => {
    forge.faultFor = ({ path }) => (path.endsWith('/collaborators') ? forbidden : undefined)
    const { store, notes } = await read()
    assert.deepEqual(store.records('repositories')[0]?.collaborators, [])
    assert.match(notes, /does not return collaborators/)
  })
})
