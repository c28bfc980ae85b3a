import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exportMigration } from './export-migration.ts'
import type { Headers, HttpResponse } from './http-request.ts'
import { needsDescription, readDescription } from './openapi-description.ts'
import {
  needsOrganization,
  organizationUnderTest,
  type ServerUnderTest,
  serverUnderTest,
} from './server-under-test.ts'

interface ExpectedRequest {
  operation: string
  /** The path here, if it differs from the described one. */
  at: string
  status: number
  headers?: Headers
  body?: unknown
}

const LIST = 'GET '
const START = 'POST '
const STATUS = 'GET /{migration_id}'
const REPOSITORIES = 'GET /{migration_id}/repositories'
const ARCHIVE = 'GET /{migration_id}/archive'
const DELETE = 'DELETE /{migration_id}/archive'
const UNLOCK = 'DELETE /{migration_id}/repos/{repo_name}/lock'
const OPERATIONS = [LIST, START, STATUS, REPOSITORIES, ARCHIVE, DELETE, UNLOCK]
const READS = [LIST, STATUS, REPOSITORIES]

const withStatus = (operations: string[], ...statuses: number[]) =>
  operations.flatMap((operation) => statuses.map((status) => `${operation} ${status}`))

/** Statuses that Godwit sends and the description does not have; they match its `basic-error`. */
const UNDESCRIBED = [
  ...withStatus(OPERATIONS, 400, 415),
  ...withStatus([REPOSITORIES], 304, 401, 403),
  ...withStatus([START, DELETE, UNLOCK], 413),
  `${ARCHIVE} 404`,
]

/** Described statuses that Godwit never sends: only reads can be unmodified. */
const NEVER_SENT = withStatus([START, ARCHIVE, DELETE, UNLOCK], 304)

/** Undescribed statuses of the operations of an organization. */
const UNDESCRIBED_OF_ORGANIZATION = [
  ...withStatus(OPERATIONS, 400, 401, 403, 415),
  ...withStatus(READS, 304),
  ...withStatus([START, DELETE, UNLOCK], 413),
  `${LIST} 404`,
]

interface MigrationPaths {
  /** The path in the description and here. */
  path: string
  at: string
  server: ServerUnderTest
}

describe('GitHub’s description of its API', needsDescription(), () => {
  test('allows every response of every operation', async () => {
    const server = await serverUnderTest()
    const paths = { path: '/user/migrations', at: '/user/migrations', server }
    const { missing, unused } = await compareStatuses(paths, await allRequests(paths))
    assert.deepEqual(missing, UNDESCRIBED.toSorted())
    assert.deepEqual(unused, NEVER_SENT.toSorted())
  })

  test(
    'allows every response of every operation on an organization',
    needsOrganization,
    async () => {
      const { org, ...server } = await organizationUnderTest()
      const paths = { path: '/orgs/{org}/migrations', at: `/orgs/${org}/migrations`, server }
      const hidden = OPERATIONS.map((operation) => ({
        operation,
        at: `/orgs/no-such-org/migrations${operation.split(' ')[1]!.replaceAll(/\{.*?\}/g, '1')}`,
        status: 404,
      }))
      const withoutRepositories = {
        operation: LIST,
        at: `${paths.at}?exclude=repositories`,
        status: 200,
      }
      const requests = [...(await allRequests(paths)), ...hidden, withoutRepositories]
      const { missing, unused } = await compareStatuses(paths, requests)
      assert.deepEqual(missing, UNDESCRIBED_OF_ORGANIZATION.toSorted())
      assert.deepEqual(unused, [])
    },
  )

  test('allows the responses about organizations', needsOrganization, async () => {
    const { validationError } = await readDescription()
    const { org, request } = await organizationUnderTest()
    for (const path of [
      '/meta',
      '/user/orgs',
      '/user/memberships/orgs',
      '/orgs/{org}',
      '/orgs/{org}/members',
      '/orgs/{org}/repos',
    ]) {
      const response = await request('GET', path.replace('{org}', org))
      assert.equal(response.status, 200, path)
      assert.equal(validationError('GET', path, response), undefined, path)
      assert.notEqual(response.body, '[]', path)
    }
  })

  test('allows the responses beside the migrations', async () => {
    const description = await readDescription()
    const server = await serverUnderTest()
    for (const path of ['/', '/user', '/rate_limit']) {
      const response = await server.request('GET', path)
      assert.equal(response.status, 200)
      assert.equal(description.validationError('GET', path, response), undefined, path)
    }
  })

  test('rejects a changed response', async () => {
    const { validationError } = await readDescription()
    const record = (owner: unknown) => ({ status: 200, body: JSON.stringify([{ owner }]) })
    assert.match(
      validationError('GET', '/user/migrations', record(null))!,
      /required property 'guid'/,
    )
    assert.doesNotMatch(validationError('GET', '/user/migrations', record(null))!, /\/owner /)
    assert.match(validationError('GET', '/user/migrations', record('alice'))!, /\/owner must be/)
    assert.match(
      validationError('GET', '/user/migrations', { status: 415, body: '{}' })!,
      /required property 'message'/,
    )
  })
})

/** Sends all requests; returns the statuses that are not described, and the described ones that did not occur. */
async function compareStatuses({ path, server }: MigrationPaths, requests: ExpectedRequest[]) {
  const description = await readDescription()
  const errors: string[] = []
  const received = new Set<string>()
  for (const request of requests) {
    const { operation, at, status } = request
    const response = await sendRequest(server, request)
    assert.equal(response.status, status, `${operation} at ${at}: ${response.body.slice(0, 200)}`)
    received.add(`${operation} ${status}`)
    const [method, below] = operation.split(' ') as [string, string]
    const error = description.validationError(method, `${path}${below}`, response)
    if (error) errors.push(`${operation} ${status}: ${error}`)
  }
  assert.deepEqual(errors, [])
  const described = new Set(
    OPERATIONS.flatMap((operation) => {
      const [method, below] = operation.split(' ') as [string, string]
      return withStatus([operation], ...description.statusesOf(method, `${path}${below}`))
    }),
  )
  return {
    missing: [...received.difference(described)].sort(),
    unused: [...described.difference(received)].sort(),
  }
}

/** Returns requests for every operation in every way it can end, in an order in which they can be sent. */
async function allRequests({ at: migrations, server }: MigrationPaths): Promise<ExpectedRequest[]> {
  const { repositories } = server
  const id = await exportMigration(server, { lock_repositories: true }, migrations)
  const base = `${migrations}/${id}`
  const name = repositories[0]!.split('/')[1]
  const etagOf = async (path: string) => ({
    'if-none-match': (await server.request('GET', path)).headers.etag,
  })
  const pathOf: Record<string, string> = {
    [LIST]: migrations,
    [START]: migrations,
    [STATUS]: base,
    [REPOSITORIES]: `${base}/repositories`,
    [ARCHIVE]: `${base}/archive`,
    [DELETE]: `${base}/archive`,
    [UNLOCK]: `${base}/repos/${name}/lock`,
  }
  const known = READS.map(async (operation) => {
    const at = pathOf[operation]!
    return { operation, at, status: 304, headers: await etagOf(at) }
  })
  return [
    ...(await Promise.all(known)),
    ...OPERATIONS.flatMap((operation) => rejectedRequests(operation, pathOf[operation]!)),
    { operation: START, at: migrations, status: 201, body: { repositories } },
    ...[{}, { repositories: ['nobody/nothing'] }, { repositories: [7], lock_repositories: 1 }].map(
      (body) => ({ operation: START, at: migrations, status: 422, body }),
    ),
    { operation: START, at: migrations, status: 400, body: '{' },
    { operation: START, at: migrations, status: 400, body: '[]' },
    ...[START, DELETE, UNLOCK].map((operation) => ({
      ...{ operation, at: pathOf[operation]!, status: 413 },
      // Node does not send a length for a DELETE.
      headers: { 'content-length': String(2 ** 20 + 1) },
      body: ' '.repeat(2 ** 20 + 1),
    })),
    ...['', '?per_page=1&page=2', '?page=1000'].flatMap((query) => [
      { operation: LIST, at: `${migrations}${query}`, status: 200 },
      { operation: REPOSITORIES, at: `${base}/repositories${query}`, status: 200 },
    ]),
    ...['', '?exclude=repositories'].map((query) => ({
      operation: STATUS,
      at: `${base}${query}`,
      status: 200,
    })),
    { operation: ARCHIVE, at: `${base}/archive`, status: 302 },
    { operation: UNLOCK, at: pathOf[UNLOCK]!, status: 204 },
    { operation: UNLOCK, at: pathOf[UNLOCK]!, status: 404 },
    { operation: DELETE, at: `${base}/archive`, status: 204 },
    { operation: DELETE, at: `${base}/archive`, status: 404 },
    { operation: ARCHIVE, at: `${base}/archive`, status: 404 },
    { operation: STATUS, at: base, status: 200 },
    { operation: STATUS, at: `${migrations}/0`, status: 404 },
    { operation: REPOSITORIES, at: `${migrations}/0/repositories`, status: 404 },
  ]
}

/** Requests that are rejected before the operation runs. */
function rejectedRequests(operation: string, at: string): ExpectedRequest[] {
  return [
    { operation, at, status: 401, headers: { authorization: undefined } },
    { operation, at, status: 401, headers: { authorization: 'bearer nonsense' } },
    { operation, at, status: 403, headers: { 'user-agent': undefined } },
    { operation, at, status: 400, headers: { 'x-github-api-version': '1999-01-01' } },
    { operation, at, status: 415, headers: { accept: 'application/xml' } },
  ]
}

function sendRequest(server: ServerUnderTest, request: ExpectedRequest): Promise<HttpResponse> {
  const method = request.operation.split(' ')[0]!
  return server.request(method, request.at, {
    ...(request.headers && { headers: request.headers }),
    ...(request.body !== undefined && { body: request.body }),
  })
}
