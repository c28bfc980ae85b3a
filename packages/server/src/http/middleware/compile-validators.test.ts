import assert from 'node:assert/strict'
import { test } from 'node:test'
import Fastify from 'fastify'
import { collectRoutes, descriptionServer } from '../../../../../test/support/description-server.ts'
import { compileAtFirstRequest } from './compile-validators.ts'

const PARTS = ['params', 'querystring', 'body', 'headers'] as const

test('every schema of the API can be compiled', async (t) => {
  const { app, routes } = collectRoutes(() => descriptionServer(t))
  await app.ready()
  const compiled: string[] = []
  for (const { method, url, schema } of routes)
    for (const httpPart of PARTS) {
      if (!schema?.[httpPart]) continue
      const validate = app.validatorCompiler!({
        schema: schema[httpPart],
        method: String(method),
        url,
        httpPart,
      })
      assert.doesNotThrow(() => validate(null), `${method} ${url}: ${httpPart}`)
      compiled.push(`${method} ${url} ${httpPart}`)
    }
  assert.ok(compiled.includes('POST /user/migrations body'), compiled.join('\n'))
})

test('a schema is compiled by the first request, and its errors are those of the request', async (t) => {
  const app = Fastify({ schemaController: { compilersFactory: compileAtFirstRequest() } })
  t.after(() => app.close())
  const invalid = { querystring: { type: 'unknown' } }
  const valid = { querystring: { properties: { page: { type: 'integer' } } } }
  app.get('/invalid', { schema: invalid }, async () => 'never')
  app.get('/valid', { schema: valid }, async ({ query }) => query)
  await app.ready()
  const answer = async (url: string) => {
    const response = await app.inject(url)
    return [response.statusCode, response.json().page ?? response.json().message]
  }
  assert.deepEqual(await answer('/valid?page=2'), [200, 2])
  assert.deepEqual(await answer('/valid?page=x'), [400, 'querystring/page must be integer'])
  assert.deepEqual(await answer('/valid?page=3'), [200, 3])
  const [status, message] = await answer('/invalid')
  assert.equal(status, 500)
  assert.match(message, /schema is invalid/)
})
