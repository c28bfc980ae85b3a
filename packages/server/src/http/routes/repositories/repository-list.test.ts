import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidRequest } from '../../../../../lib/src/request-errors.ts'
import { affiliations } from '../../../repositories/administered-repositories.ts'
import { HttpError } from '../../middleware/http-errors.ts'
import { repositoryQueryOf } from './repository-list.ts'

const ALL = { affiliations }
const BY_NAME = { by: 'full_name', direction: 'asc' }

for (const [query, filter, order] of [
  [{}, ALL, BY_NAME],
  [{ sort: '', type: '', q: '' }, ALL, BY_NAME],
  [{ sort: 'created' }, ALL, { by: 'created', direction: 'desc' }],
  [{ sort: ['created', 'pushed'], direction: 'asc' }, ALL, { by: 'pushed', direction: 'asc' }],
  [{ direction: 'desc' }, ALL, { by: 'full_name', direction: 'desc' }],
  [{ visibility: 'all' }, ALL, BY_NAME],
  [{ visibility: 'private' }, { ...ALL, isPrivate: true }, BY_NAME],
  [{ type: 'public' }, { ...ALL, isPrivate: false }, BY_NAME],
  [{ type: 'owner' }, { affiliations: ['owner'] }, BY_NAME],
  [{ type: 'member' }, { affiliations: ['collaborator', 'organization_member'] }, BY_NAME],
  [{ affiliation: 'owner,collaborator' }, { affiliations: ['owner', 'collaborator'] }, BY_NAME],
  [{ since: '2026-01-02' }, { ...ALL, updatedAfter: Date.UTC(2026, 0, 2) }, BY_NAME],
  // The plus sign of the time zone was not escaped, so it arrives as a space.
  [
    { before: '2026-01-02T03:00:00 01:00' },
    { ...ALL, updatedBefore: Date.UTC(2026, 0, 2, 2) },
    BY_NAME,
  ],
  [{ check: 'failed' }, { ...ALL, isDamaged: true }, BY_NAME],
  [{ q: 'At' }, { ...ALL, nameContains: 'At' }, BY_NAME],
] as const) {
  test(`the query ${JSON.stringify(query)}`, () => {
    assert.deepEqual(repositoryQueryOf(query), { filter, order })
  })
}

test('the error lists all invalid fields', () => {
  const wrong = {
    type: 'mine',
    visibility: 'internal',
    affiliation: 'owner,enemy',
    check: 'passed',
    sort: 'stars',
    direction: 'up',
    since: 'yesterday',
    before: '2026-13-01T00:00:00Z',
  }
  assert.throws(
    () => repositoryQueryOf(wrong),
    (error: InvalidRequest) => {
      assert.ok(error instanceof InvalidRequest)
      assert.deepEqual(error.errors.map(({ field }) => field).sort(), Object.keys(wrong).sort())
      assert.deepEqual(error.errors[0], { resource: 'Repository', field: 'type', code: 'invalid' })
      return true
    },
  )
})

test('type excludes visibility and affiliation', () => {
  for (const other of [{ visibility: 'all' }, { affiliation: 'owner' }]) {
    const both = () => repositoryQueryOf({ type: 'all', ...other })
    assert.throws(both, (error: HttpError) => error instanceof HttpError && error.status === 422)
  }
})
