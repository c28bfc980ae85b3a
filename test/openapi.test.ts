import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type * as wire from '../packages/contract/src/schemas/types.ts'
import type { MediaTypeOptions } from '../packages/server/src/http/middleware/api-headers.ts'
import { migrationJson } from '../packages/server/src/http/rendering/migration-json.ts'
import {
  extendedRepositoryJson,
  plainRepositoryJson,
} from '../packages/server/src/http/rendering/repository-json.ts'
import { userJson } from '../packages/server/src/http/rendering/user-json.ts'
import {
  addresses,
  collectRoutes,
  DEFAULT_MEDIA_TYPE,
  descriptionOf,
  descriptionServer,
  rendering,
} from './support/description-server.ts'
import { cleanupAfterFile } from './support/file-cleanup.ts'
import { type Description, openApiValidator } from './support/openapi-validator.ts'
import { alice, repositoryMetadata, startedMigration } from './support/repository-metadata.ts'
import { skipUnless } from './support/skip-unless.ts'

describe('the description of the API', () => {
  const fileCleanup = cleanupAfterFile()
  let described: Promise<Description> | undefined
  /** The description with default settings. */
  function defaultDescription(): Promise<Description> {
    described ??= descriptionOf(descriptionServer(fileCleanup))
    return described
  }

  test('names exactly the routes of the server', async (t) => {
    const { app, routes: added } = collectRoutes(() => descriptionServer(t))
    const { operations } = openApiValidator(await descriptionOf(app))
    const routes = added.map(({ method, url }) => `${method} ${url}`)

    // Not in the description: HEAD and OPTIONS of every route, the second prefix of the API, the protocols of git and
    // git-lfs, and one signed route for `godwit doctor`.
    const implied =
      /^HEAD |^GET \/proxy-probe$|^OPTIONS \/\*$| \/api\/v3(\/|$)| \/:owner\/:name\/(info\/(refs|lfs\/.+)|git-\w+-pack)$/
    const own = routes.filter((route) => !implied.test(route))
    const described = operations.map(({ method, path }) => `${method} ${path}`)
    const inBraces = own.map((route) => route.replaceAll(/:(\w+)/g, '{$1}'))
    assert.ok(described.length > 0)
    assert.deepEqual(described.sort(), inBraces.sort())
    const ids = operations.map(({ operationId }) => operationId)
    assert.equal(new Set(ids).size, ids.length)
  })

  test('validates only request bodies, and does not serialize responses', async (t) => {
    const { app, routes } = collectRoutes(() => descriptionServer(t))
    await app.ready()
    const validated = routes.flatMap(({ schema }) =>
      ['querystring', 'query', 'params', 'headers', 'response'].filter(
        (key) => key in (schema ?? {}),
      ),
    )
    assert.deepEqual(validated, [])
    const bodies = routes.filter(({ schema }) => schema?.body).map(({ url }) => url)
    const starting = ['/user/migrations', '/orgs/:org/migrations'].flatMap((path) => [
      path,
      `${path}/preflight`,
      `${path}/:migration_id/retry`,
      `${path}/schedules`,
      `${path}/schedules/:schedule_id`,
    ])
    const hooks = ['/user/hooks', '/orgs/:org/hooks'].flatMap((path) => [
      path,
      `${path}/:hook_id`,
      `${path}/:hook_id/config`,
    ])
    const paths = [
      ...starting,
      ...hooks,
      '/organizations/:organization_id/migrations',
      '/admin/migrations/:migration_id/retry',
      '/admin/sync',
      '/user/tokens',
    ]
    const prefixed = paths.flatMap((path) => [path, `/api/v3${path}`])
    assert.deepEqual(bodies.sort(), [...prefixed, '/session'].sort())
  })

  const linter = findLinter()
  const needsLinter = skipUnless(linter !== undefined, '@redocly/openapi-core is not installed')
  for (const mediaType of [DEFAULT_MEDIA_TYPE, { vendor: 'acme', preview: 'optional' }] as const) {
    const { vendor, preview } = mediaType
    test(`is valid OpenAPI 3.1: ${vendor}, ${preview}`, needsLinter, async (t) => {
      const app = descriptionServer(t, mediaType)
      const { createConfig, lintFromString } = await import(pathToFileURL(linter!).href)
      const problems: { ruleId: string; location: { pointer: string }[] }[] = await lintFromString({
        source: (await app.inject('/openapi.json')).body,
        absoluteRef: 'openapi.json',
        config: await createConfig({ extends: ['recommended-strict'] }),
      })
      const found = problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`)
      assert.deepEqual(found.sort(), ACCEPTED_FINDINGS.toSorted())
    })
  }

  test('has valid examples', async () => {
    const validator = openApiValidator(await defaultDescription())
    let count = 0
    for (const { operationId, requestBody, responses } of validator.operations) {
      for (const { schema } of Object.values(requestBody?.content ?? {})) {
        for (const example of schema.examples) validator.assertValid(schema, example, operationId)
      }
      for (const [status, response] of Object.entries(responses)) {
        const { content = {} } = validator.lookup(response)
        for (const { schema, examples = {} } of Object.values(content)) {
          for (const example of Object.values(examples)) {
            const { value } = validator.lookup<{ value?: unknown }>(example)
            validator.assertValid(schema, value, `${operationId} ${status}`)
            count++
          }
        }
      }
    }
    assert.ok(count > 50, `${count} examples`)
  })

  test('requires the body of a request only if something in it is required', async () => {
    const { paths } = await defaultDescription()
    const isRequired = (path: string, method = 'post') =>
      (paths[path]![method]!.requestBody as { required?: boolean }).required
    for (const path of ['/user/migrations', '/user/hooks', '/session', '/user/tokens'])
      assert.equal(isRequired(path), true, path)
    assert.equal(isRequired('/user/migrations/{migration_id}/retry'), false)
    assert.equal(isRequired('/user/hooks/{hook_id}/config', 'patch'), false)
  })

  test('has a curl command for every operation that it allows', async () => {
    const { operations, lookup, assertValid } = openApiValidator(await defaultDescription())
    for (const { method, path, operationId, security, requestBody, ...operation } of operations) {
      const [{ source } = { source: '' }] = operation['x-codeSamples']
      const valuesOf = (option: string) =>
        [...source.matchAll(new RegExp(`--${option} (['"]?)(.+?)\\1(?= )`, 'g'))].map(
          (all) => all[2]!,
        )
      const [data] = valuesOf('data')
      assert.equal(valuesOf('request')[0] ?? (data ? 'POST' : 'GET'), method, operationId)
      const schema = requestBody?.content['application/json']?.schema
      assert.equal(data === undefined, schema === undefined, operationId)
      if (schema) assertValid(schema, JSON.parse(data!), operationId)
      // The caller may not own this repository, and an organization does not.
      if (!path.startsWith('/admin/')) assert.doesNotMatch(data ?? '', /alice\//, operationId)

      const { pathname, searchParams } = new URL(/'(https:.+)'$/.exec(source)![1]!)
      const pattern = path.replaceAll(/\{\w+\}/g, '[\\w-]+')
      assert.match(pathname, new RegExp(`^/api${pattern}$`), operationId)
      const headers = valuesOf('header').map((header) => header.split(':', 1)[0]!)
      const parameters = operation.parameters?.map(lookup) ?? []
      for (const { name, in: where } of parameters.filter(({ required }) => required)) {
        const isSent = where === 'path' || headers.includes(name) || searchParams.has(name)
        assert.ok(isSent, `${operationId} lacks ${name}`)
      }
      const isInSession = headers.includes('x-godwit-session')
      const needsToken = security?.length !== 0 && !isInSession
      assert.equal(headers.includes('authorization'), needsToken, operationId)
      assert.equal(/--cookie(-jar)? session\.txt /.test(source), isInSession, operationId)
      const isArchive = method === 'GET' && path.endsWith('/archive')
      assert.equal(valuesOf('output').length, isArchive ? 1 : 0, operationId)
      if (path.startsWith('/{owner}')) assert.deepEqual(valuesOf('header'), ['accept: text/html'])
    }
    const tokens = operations.filter(
      ({ method, path }) => method !== 'GET' && path.startsWith('/user/tokens'),
    )
    for (const { operationId, parameters = [] } of tokens)
      assert.ok(
        parameters.map(lookup).some(({ name }) => name === 'x-godwit-session'),
        operationId,
      )
  })

  test('allows every rendered field and no others', async () => {
    const { assertValid, lookup } = openApiValidator(await defaultDescription())
    const assertSchema = (name: string, value: unknown) =>
      assertValid({ $ref: `#/components/schemas/${name}` }, value, name)
    assertSchema('user', userJson(alice, addresses))
    const delivery = { $ref: '#/components/examples/webhook-delivery' }
    assertSchema(
      'webhook-event',
      lookup<{ value: wire.FullWebhookDelivery }>(delivery).value.request.payload,
    )
    assertSchema('user', userJson({ ...alice, type: 'Organization', siteAdmin: true }, addresses))
    const empty = { homepage: null, language: null, license: null, description: '', topics: [] }
    const template = repositoryMetadata({ id: 8, name: 'mould' })
    for (const metadata of [empty, { template }, { private: true }, { mirrorOf: 'git://a.b/c' }]) {
      const repository = repositoryMetadata(metadata)
      assertSchema('repository', plainRepositoryJson(repository, addresses))
      assertSchema('extended-repository', extendedRepositoryJson(repository, addresses))
      for (const archiveExpiresAt of [null, 1]) {
        assertSchema(
          'migration',
          migrationJson({ ...migration, archiveExpiresAt }, [repository], rendering),
        )
      }
    }
    assert.throws(
      () => assertSchema('user', { ...userJson(alice, addresses), password: 'x' }),
      /password/,
    )
    assert.throws(
      () => assertSchema('repository', extendedRepositoryJson(template, addresses)),
      /license/,
    )
  })

  test('names only headers that a page of another origin may send, except that of sessions', async (t) => {
    const app = descriptionServer(t)
    const { operations, lookup } = openApiValidator(await descriptionOf(app))
    const parameters = operations.flatMap(({ parameters = [] }) => parameters.map(lookup))
    const names = parameters.filter((each) => each.in === 'header').map(({ name }) => name)
    const { headers } = await app.inject({ method: 'OPTIONS', url: '/user/migrations' })
    const allowed = String(headers['access-control-allow-headers']).toLowerCase().split(', ')
    assert.deepEqual(
      [...new Set(names)].filter((name) => !allowed.includes(name)),
      ['x-godwit-session'],
    )
  })

  test('reflects the settings of the operator', async (t) => {
    const text = async (mediaType: MediaTypeOptions) =>
      JSON.stringify(await descriptionOf(descriptionServer(t, mediaType)))
    assert.match(
      JSON.stringify(await defaultDescription()),
      /"mediaType":"application\/vnd\.github\.[^}]*"required":true/,
    )
    const other = await text({ vendor: 'acme', preview: 'optional' })
    assert.match(other, /"mediaType":"application\/vnd\.acme\.[^}]*"required":false/)
    assert.match(other, /x-acme-request-id/)
    assert.doesNotMatch(other, /x-github-/)
  })
})

/** Findings of the linter that are intended: paths and statuses of GitHub's API, and pages without errors. */
const ACCEPTED_FINDINGS = [
  'no-ambiguous-paths #/paths/~1user~1hooks~1{hook_id}',
  'no-ambiguous-paths #/paths/~1user~1{migration_id}~1repositories',
  ...['user', 'orgs~1{org}'].flatMap((of) => {
    const schedule = `no-ambiguous-paths #/paths/~1${of}~1migrations~1schedules~1{schedule_id}`
    return [schedule, `${schedule}~1protected-archives~1{migration_id}`]
  }),
  ...['user', 'orgs~1{org}', 'organizations~1{organization_id}'].map(
    (of) =>
      `operation-2xx-response #/paths/~1${of}~1migrations~1{migration_id}~1archive/get/responses`,
  ),
  'operation-2xx-response #/paths/~1{owner}/get/responses',
  'operation-2xx-response #/paths/~1{owner}~1{repo}/get/responses',
  ...['', 'meta', 'openapi.json', 'docs', 'healthz', 'readyz', 'metrics'].map(
    (page) => `operation-4xx-response #/paths/~1${page}/get/responses`,
  ),
]

const migration = startedMigration({ state: 'exported' })

/** The linter is installed with the clients of test/wire. */
function findLinter(): string | undefined {
  try {
    const { resolve } = createRequire(new URL('wire/package.json', import.meta.url))
    return resolve('@redocly/openapi-core')
  } catch {
    return undefined
  }
}
