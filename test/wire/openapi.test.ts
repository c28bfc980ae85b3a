import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exported } from './exported.ts'
import type { Answer, Headers } from './http-request.ts'
import { needsDescription, type OpenApi, readDescription } from './openapi-description.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

interface Asked {
  operation: string
  /** Where it differs from the operation's own path. */
  at: string
  status: number
  headers?: Headers
  body?: unknown
}

const LIST = 'GET /user/migrations'
const START = 'POST /user/migrations'
const STATUS = 'GET /user/migrations/{migration_id}'
const REPOSITORIES = 'GET /user/migrations/{migration_id}/repositories'
const ARCHIVE = 'GET /user/migrations/{migration_id}/archive'
const DELETE = 'DELETE /user/migrations/{migration_id}/archive'
const UNLOCK = 'DELETE /user/migrations/{migration_id}/repos/{repo_name}/lock'
const OPERATIONS = [LIST, START, STATUS, REPOSITORIES, ARCHIVE, DELETE, UNLOCK]

/** Statuses that Godwit gives and the description does not have: they match its `basic-error`. */
const UNDESCRIBED = [
  ...OPERATIONS.map((operation) => `${operation} 400`),
  ...OPERATIONS.map((operation) => `${operation} 415`),
  `${START} 413`,
  `${REPOSITORIES} 304`,
  `${REPOSITORIES} 401`,
  `${REPOSITORIES} 403`,
  `${ARCHIVE} 404`,
]

/** Statuses that the description has and Godwit never gives: only what is read can be unmodified. */
const NEVER_GIVEN = [START, ARCHIVE, DELETE, UNLOCK].map((operation) => `${operation} 304`)

describe('GitHub’s description of its API', needsDescription(), () => {
  test('has every answer of every operation', async () => {
    const description = await readDescription()
    const server = await serverUnderTest()
    const complaints: string[] = []
    const given = new Set<string>()
    for (const asked of await everything(server)) {
      const { operation, at, status } = asked
      const answer = await askFor(server, asked)
      assert.equal(answer.status, status, `${operation} at ${at}: ${answer.body.slice(0, 200)}`)
      given.add(`${operation} ${status}`)
      const [method, path] = operation.split(' ') as [string, string]
      const complaint = description.complaint(method, path, answer)
      if (complaint) complaints.push(`${operation} ${status}: ${complaint}`)
    }
    assert.deepEqual(complaints, [])
    const described = new Set(OPERATIONS.flatMap((operation) => statusesOf(description, operation)))
    assert.deepEqual([...given.difference(described)].sort(), UNDESCRIBED.toSorted())
    assert.deepEqual([...described.difference(given)].sort(), NEVER_GIVEN.toSorted())
  })

  test('has what is asked beside the migrations', async () => {
    const description = await readDescription()
    const server = await serverUnderTest()
    for (const path of ['/', '/user', '/rate_limit']) {
      const answer = await server.ask('GET', path)
      assert.equal(answer.status, 200)
      assert.equal(description.complaint('GET', path, answer), undefined, path)
    }
  })

  test('would not have taken another answer', async () => {
    const { complaint } = await readDescription()
    const record = (owner: unknown) => ({ status: 200, body: JSON.stringify([{ owner }]) })
    assert.match(complaint('GET', '/user/migrations', record(null))!, /required property 'guid'/)
    assert.doesNotMatch(complaint('GET', '/user/migrations', record(null))!, /\/owner /)
    assert.match(complaint('GET', '/user/migrations', record('alice'))!, /\/owner must be/)
    assert.match(
      complaint('GET', '/user/migrations', { status: 415, body: '{}' })!,
      /required property 'message'/,
    )
  })
})

function statusesOf(description: OpenApi, operation: string): string[] {
  const [method, path] = operation.split(' ') as [string, string]
  return description.statusesOf(method, path).map((status) => `${operation} ${status}`)
}

/** Every operation in every way it can end, in an order that can be followed from top to bottom. */
async function everything(server: ServerUnderTest): Promise<Asked[]> {
  const { repositories } = server
  const id = await exported(server, { lock_repositories: true })
  const base = `/user/migrations/${id}`
  const name = repositories[0]!.split('/')[1]
  const etagOf = async (path: string) => ({
    'if-none-match': (await server.ask('GET', path)).headers.etag,
  })
  const places: Record<string, string> = {
    [LIST]: '/user/migrations',
    [START]: '/user/migrations',
    [STATUS]: base,
    [REPOSITORIES]: `${base}/repositories`,
    [ARCHIVE]: `${base}/archive`,
    [DELETE]: `${base}/archive`,
    [UNLOCK]: `${base}/repos/${name}/lock`,
  }
  const known = [LIST, STATUS, REPOSITORIES].map(async (operation) => {
    const at = places[operation]!
    return { operation, at, status: 304, headers: await etagOf(at) }
  })
  return [
    ...(await Promise.all(known)),
    ...OPERATIONS.flatMap((operation) => refusedToAnyone(operation, places[operation]!)),
    { operation: START, at: '/user/migrations', status: 201, body: { repositories } },
    ...[{}, { repositories: ['nobody/nothing'] }, { repositories: [7], lock_repositories: 1 }].map(
      (body) => ({ operation: START, at: '/user/migrations', status: 422, body }),
    ),
    { operation: START, at: '/user/migrations', status: 400, body: '{' },
    { operation: START, at: '/user/migrations', status: 400, body: '[]' },
    { operation: START, at: '/user/migrations', status: 413, body: ' '.repeat(2 ** 20 + 1) },
    ...['', '?per_page=1&page=2', '?page=1000'].flatMap((query) => [
      { operation: LIST, at: `/user/migrations${query}`, status: 200 },
      { operation: REPOSITORIES, at: `${base}/repositories${query}`, status: 200 },
    ]),
    ...['', '?exclude=repositories'].map((query) => ({
      operation: STATUS,
      at: `${base}${query}`,
      status: 200,
    })),
    { operation: ARCHIVE, at: `${base}/archive`, status: 302 },
    { operation: UNLOCK, at: places[UNLOCK]!, status: 204 },
    { operation: UNLOCK, at: places[UNLOCK]!, status: 404 },
    { operation: DELETE, at: `${base}/archive`, status: 204 },
    { operation: DELETE, at: `${base}/archive`, status: 404 },
    { operation: ARCHIVE, at: `${base}/archive`, status: 404 },
    { operation: STATUS, at: base, status: 200 },
    { operation: STATUS, at: '/user/migrations/0', status: 404 },
    { operation: REPOSITORIES, at: '/user/migrations/0/repositories', status: 404 },
  ]
}

/** What is refused before the operation itself is looked at. */
function refusedToAnyone(operation: string, at: string): Asked[] {
  return [
    { operation, at, status: 401, headers: { authorization: undefined } },
    { operation, at, status: 401, headers: { authorization: 'bearer nonsense' } },
    { operation, at, status: 403, headers: { 'user-agent': undefined } },
    { operation, at, status: 400, headers: { 'x-github-api-version': '1999-01-01' } },
    { operation, at, status: 415, headers: { accept: 'application/xml' } },
  ]
}

function askFor({ ask }: ServerUnderTest, asked: Asked): Promise<Answer> {
  const method = asked.operation.split(' ')[0]!
  return ask(method, asked.at, {
    ...(asked.headers && { headers: asked.headers }),
    ...(asked.body !== undefined && { body: asked.body }),
  })
}
