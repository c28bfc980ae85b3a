import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolveReferences } from '../src/docs/resolve-references.ts'

const BASE = 'http://localhost/docs'
const schemas = {
  user: { type: 'object', properties: { login: { type: 'string' } } },
  'a/b': { type: 'integer' },
  repository: {
    properties: {
      owner: { $ref: '#/components/schemas/user', description: 'Who owns it' },
      size: { $ref: '#/components/schemas/a~1b' },
      parent: { anyOf: [{ $ref: '#/components/schemas/repository' }, { type: 'null' }] },
    },
  },
}
const responses = { 200: { content: { $ref: '#/components/schemas/user' } } }
const description = {
  security: [{ token: [] }],
  paths: { '/user': { get: { operationId: 'users/get-own', responses } } },
  components: { schemas },
}

test('references in a part of the API description are replaced by what they refer to', () => {
  const user = { ...schemas.user, $$ref: `${BASE}#/components/schemas/user` }
  const own = `${BASE}#/components/schemas/repository`
  assert.deepEqual(resolveReferences(description, ['components', 'schemas', 'repository'], BASE), {
    properties: {
      owner: { ...user, description: 'Who owns it' },
      size: { type: 'integer', $$ref: `${BASE}#/components/schemas/a~1b` },
      // A schema that contains itself is replaced once.
      parent: {
        anyOf: [
          {
            properties: {
              owner: { ...user, description: 'Who owns it' },
              size: { type: 'integer', $$ref: `${BASE}#/components/schemas/a~1b` },
              parent: { anyOf: [{ $ref: own }, { type: 'null' }] },
            },
            $$ref: own,
          },
          { type: 'null' },
        ],
      },
    },
  })
  assert.deepEqual(resolveReferences(description, ['paths', '/user', 'get'], BASE), {
    operationId: 'users_get_own',
    __originalOperationId: 'users/get-own',
    responses: { 200: { content: user } },
    security: [{ token: [] }],
  })
  assert.equal(resolveReferences(description, ['paths', '/other', 'get'], BASE), undefined)
})
