import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { before, type TestContext, test } from 'node:test'
import { cleanupAfterFile } from './support/file-cleanup.ts'
import { type GitHost, gitHost } from './support/git-host.ts'
import {
  type DescribedResponse,
  type Description,
  type Operation,
  openApiValidator,
  type Parameter,
} from './support/openapi-validator.ts'
import type { SharedService } from './support/service.ts'
import { slowGit } from './support/slow-git.ts'
import { startSharedService } from './support/start-shared-service.ts'
import { until } from './support/wait-until.ts'

/** Headers that the description must name. */
const IMPORTANT_HEADERS =
  /^(etag|link|location|retry-after|content-range|content-disposition|accept-ranges|x-github-.+|x-ratelimit-.+)$/

const PAGES = ['/', '/meta', '/healthz', '/readyz', '/metrics', '/docs', '/openapi.json']

/** The operations that the audit log must have: those that give access to an archive, and all that change something. */
const GIVES_ACCESS = /\/(get|download)-archive(?!s)/
const CHANGES = /^(?!migrations\/preflight)/

interface RequestInput {
  method?: string
  body?: unknown
  headers?: Record<string, string>
  token?: string
}

/** Starts a service with its own description, against which every response is checked. */
async function describedService(t: Pick<TestContext, 'after'>) {
  const host = await gitHost()
  t.after(host.remove)
  await makeRepositories(host)
  const git = await slowGit()
  t.after(git.remove)
  const service = await startSharedService(t, {
    repositories: host.root,
    flags: ['--git', git.program, '--webhook-networks', '127.0.0.1'],
  })
  const alice = await service.token('alice')
  const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as Description
  const validator = openApiValidator(document)
  const seen = new Set<string>()
  const database = new DatabaseSync(join(service.data, 'godwit.sqlite'), { readOnly: true })
  t.after(() => database.close())
  const recorded = () =>
    database
      .prepare("select action from audit_log where actor <> 'the service' and outcome = 'done'")
      .all().length

  /** Sends a request, checks status, type, headers and body of the response against the description, and returns it. */
  async function request(
    expected: number,
    path: string,
    input: RequestInput = {},
  ): Promise<Response> {
    const { method = 'GET', body, headers = {}, token = alice } = input
    const recordedBefore = recorded()
    const response = await service.call(token, path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const what = `${method} ${path} → ${response.status}`
    assert.equal(response.status, expected, what)
    const operation = operationFor(validator.operations, method, new URL(response.url).pathname)
    const described = operation.responses[response.status]
    assert.ok(described, `${what} is not described`)
    seen.add(`${operation.operationId} ${response.status}`)
    const isSignedOut = operation.operationId === 'session/close' && !headers.cookie
    const isRecorded =
      response.status < 400 &&
      (method === 'GET' ? GIVES_ACCESS : CHANGES).test(operation.operationId) &&
      !isSignedOut
    // The ranges of a download are recorded together.
    if (operation.operationId !== 'archives/download')
      assert.equal(recorded() > recordedBefore, isRecorded, `${what} is in the audit log`)
    await check(response.clone(), validator.lookup<DescribedResponse>(described), what)
    return response
  }

  async function check(
    response: Response,
    described: DescribedResponse,
    what: string,
  ): Promise<void> {
    const { content = {}, headers = {} } = described
    const important = [...response.headers.keys()].filter((name) => IMPORTANT_HEADERS.test(name))
    assert.deepEqual(
      important.filter((name) => !(name in headers)),
      [],
      `headers of ${what}`,
    )
    const text = await response.text()
    if (text === '') return assert.deepEqual(content, {}, what)
    const type = response.headers.get('content-type')!.split(';')[0]!
    const { schema } = content[type] ?? assert.fail(`${what}: ${type} is not described`)
    validator.assertValid(schema, type.endsWith('/json') ? JSON.parse(text) : text, what)
  }

  return { service, alice, git, request, seen, validator, operations: validator.operations }
}

async function makeRepositories(host: GitHost): Promise<void> {
  await host.repository('alice/site', {
    files: { 'a.ts': 'export {}\n', LICENSE: 'Ask me.\n' },
    public: true,
    config: { 'godwit.license': 'MIT', 'godwit.templateRepository': 'alice/mould' },
  })
  await host.repository('alice/mould', {
    files: { a: '1' },
    config: { 'godwit.isTemplate': 'true' },
  })
  for (const owner of ['alice', 'octo']) {
    await host.repository(`${owner}/broken`, { files: { a: '1' } })
    await host.loseObjects(`${owner}/broken`)
  }
  for (const name of ['site', 'mould']) await host.repository(`octo/${name}`, { files: { a: '1' } })
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\nbob member\n')
}

/** Returns the operation whose path has the fewest parameters, as OpenAPI defines it. */
function operationFor(operations: Operation[], method: string, pathname: string): Operation {
  const matching = operations.filter(
    (each) =>
      each.method === method &&
      new RegExp(`^${each.path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(
        pathname,
      ),
  )
  const parameters = ({ path }: Operation) => path.split('{').length
  const [first] = matching.sort((a, b) => parameters(a) - parameters(b))
  return first ?? assert.fail(`${method} ${pathname} is not described`)
}

const post = (body: unknown = {}) => ({ method: 'POST', body })

const fileCleanup = cleanupAfterFile()
let described: Described

before(async () => {
  described = await describedService(fileCleanup)
})

test('the responses of every operation match the description', async () => {
  const { service, git, request, seen, operations } = described
  for (const [at, migrations] of ['/user/migrations', '/orgs/Octo/migrations'].entries()) {
    await request(201, migrations, post({ repositories: ['site'] }))
    // The migration runs until it is cancelled, because its git process is slow.
    await request(422, `${migrations}/${at + 1}/retry`, post())
    await request(200, `${migrations}/${at + 1}/cancel`, post())
  }
  await service.godwit('account', 'add', 'operator', '--site-admin')
  const operator = { token: await service.token('operator') }
  await request(201, '/user/migrations', post({ repositories: ['site'] }))
  await request(200, '/admin/migrations/3/cancel', { ...post(), ...operator })
  await git.speedUp()
  const path = await runMigration(described, '/user/migrations')
  await readFormerPath(request, path)
  await runMigration(described, '/orgs/octo/migrations')
  await runOrganization(described)

  await readRepositories(request)

  await request(200, '/user')
  for (const query of ['', '?q=SITE&sort=pushed&type=owner', '?per_page=1']) {
    await request(200, `/user/repos${query}`)
  }
  await request(422, '/user/repos?sort=stars')
  await request(422, '/user/repos?type=all&visibility=all')
  await request(200, '/rate_limit')
  await request(200, '/user/locks')
  const sessionHeader = { headers: { 'x-godwit-session': '1' } }
  await request(200, '/session', sessionHeader)
  await request(403, '/session', post({ token: described.alice }))
  await request(401, '/session', { ...post({ token: 'gwt_wrong' }), ...sessionHeader })
  await request(201, '/session', { ...post({ token: described.alice }), ...sessionHeader })
  await request(204, '/session', { method: 'DELETE', ...sessionHeader })
  await runTokens(described)
  await request(200, '/admin/service', operator)
  await request(422, '/admin/service?period=year', operator)
  await request(404, '/admin/service')
  const audit = await request(200, '/admin/audit?per_page=2', operator)
  await request(200, audit.headers.get('link')!.match(/<https?:\/\/[^/]+(.*?)>/)![1]!, operator)
  await request(200, '/admin/audit?action=session.open&since=2026-01-01', {
    ...operator,
    headers: { accept: 'application/x-ndjson' },
  })
  await request(422, '/admin/audit?since=yesterday&action=sleep', operator)
  await request(404, '/admin/audit')
  await request(200, '/user/audit')
  await runOperatorActions(request, operator, described)
  for (const hooks of ['/user/hooks', '/orgs/Octo/hooks']) await runWebhooks(request, hooks)
  for (const page of PAGES) await request(200, page)
  for (const url of [
    '/user',
    '/user/repos',
    `${path}/summary`,
    '/user/migrations',
    path,
    `${path}/repositories`,
    '/docs',
  ]) {
    const etag = (await request(200, url)).headers.get('etag')!
    await request(304, url, { headers: { 'if-none-match': etag } })
  }
  await request(400, '/user', { headers: { 'x-github-api-version': '1999-01-01' } })
  await request(415, '/user/migrations', { headers: { accept: 'application/json' } })
  await sendInvalidBodies(described, operator)
  await sendRefusedBodies(described)
  await sendRefusedAffiliations(described)

  const unseen = operations.filter(
    ({ operationId }) => ![...seen].some((each) => each.startsWith(`${operationId} 2`)),
  )
  // The success of these operations is a redirect.
  assert.deepEqual(
    unseen.map(({ operationId }) => operationId),
    [
      'service/owner-page',
      'service/repository-page',
      'migrations/get-archive-for-authenticated-user',
      'migrations/download-archive-for-org',
      'migrations/download-archive-for-org-id',
    ],
  )
})

/** Sends bodies that are refused for a reason that the description can tell. */
async function sendRefusedBodies({ request, validator, operations }: Described): Promise<void> {
  const url = 'https://ci.example.com/'
  const refused: Record<string, object[]> = {
    '/user/hooks': [
      { config: { url: 'ftp://ci.example.com/' } },
      { config: { url: 'https://ada:secret@ci.example.com/' } },
      { config: { url, insecure_ssl: '1' } },
      { config: { url, secret: 'a\0' } },
      { config: { url }, events: [] },
      { config: { url }, events: ['push'] },
      { config: { url }, name: 'email' },
    ],
    '/user/migrations': [
      {},
      { repositories: [] },
      { repositories: ['site', 'site'] },
      { repositories: ['a b'] },
      { repositories: ['alice/site/x'] },
    ],
    '/user/migrations/schedules': [
      { repositories: ['site', 'site'], every: 'day', at: '03:30', time_zone: 'UTC' },
    ],
  }
  for (const [path, bodies] of Object.entries(refused)) {
    const { requestBody } = operations.find((each) => each.method === 'POST' && each.path === path)!
    const { schema } = requestBody!.content['application/json']!
    for (const body of bodies) {
      await request(422, path, post(body))
      assert.throws(() => validator.assertValid(schema, body, path), /Error/, JSON.stringify(body))
    }
  }
}

/** Sends lists of affiliations: the server refuses those that do not match the description. */
async function sendRefusedAffiliations({ request, validator, operations }: Described) {
  const list = operations.find(({ path }) => path === '/user/repos')!
  const { schema } = list
    .parameters!.map((each) => validator.lookup<Parameter>(each))
    .find(({ name }) => name === 'affiliation')!
  for (const valid of ['owner', 'collaborator,owner']) {
    await request(200, `/user/repos?affiliation=${valid}`)
    validator.assertValid(schema, valid, valid)
  }
  for (const refused of ['friend', 'owner,friend', 'owner,', 'owners']) {
    await request(422, `/user/repos?affiliation=${refused}`)
    assert.throws(() => validator.assertValid(schema, refused, refused), /Error/, refused)
  }
}

/** Sends bodies that are too large or no object to every operation that may have a body. */
async function sendInvalidBodies(
  { request, operations }: Described,
  operator: { token: string },
): Promise<void> {
  const { id } = (await (await request(200, '/orgs/octo')).json()) as { id: number }
  for (const { method, path } of operations.filter((each) => each.method !== 'GET')) {
    const filled = path
      .replace('{org}', 'octo')
      .replace('{organization_id}', String(id))
      .replaceAll(/\{\w+\}/g, '1')
    const headers = { 'x-godwit-session': '1' }
    await request(400, filled, { method, body: 'text', headers, ...operator })
    await request(413, filled, { method, body: ' '.repeat(2 ** 20), headers, ...operator })
  }
}

/** Runs every operation on the tokens of bob, in a browser session and with a token. */
async function runTokens({ service, request }: Described): Promise<void> {
  const token = await service.token('bob')
  for (const query of PAGE_QUERIES) await request(200, `/user/tokens${query}`, { token })
  const tokenRequest = { name: 'laptop', expires_in_days: 1, organization: 'octo' }
  await request(403, '/user/tokens', { ...post(tokenRequest), token })
  const page = { 'x-godwit-session': '1', authorization: '' }
  const opened = await request(201, '/session', { ...post({ token }), headers: page })
  const headers = { ...page, cookie: opened.headers.getSetCookie()[0]!.split(';')[0]! }
  await request(422, '/user/tokens', { ...post({ name: '' }), headers })
  const created = await request(201, '/user/tokens', { ...post(tokenRequest), headers })
  const { id } = (await created.json()) as { id: number }
  await request(204, `/user/tokens/${id}`, { method: 'DELETE', headers })
  await request(404, `/user/tokens/${id}`, { method: 'DELETE', headers })
  await request(204, '/user/tokens', { method: 'DELETE', headers })
}

/** Runs every action of an operator on migrations of alice. */
async function runOperatorActions(
  request: SendRequest,
  operator: { token: string },
  { service }: Described,
): Promise<void> {
  const start = { repositories: ['site'], lock_repositories: true }
  const started = await request(201, '/user/migrations', post(start))
  const { id } = (await started.json()) as { id: number }
  await untilEndedAt(service, await service.token('alice'), `/user/migrations/${id}`)
  const adminPath = `/admin/migrations/${id}`
  await request(404, `${adminPath}/cancel`, post())
  await request(422, `${adminPath}/cancel`, { ...post(), ...operator })
  const retry = await request(201, `${adminPath}/retry`, {
    ...post({ allow_partial: true }),
    ...operator,
  })
  const next = (await retry.json()) as { id: number }
  await untilEndedAt(service, await service.token('alice'), `/user/migrations/${next.id}`)
  await request(204, `${adminPath}/archive`, { method: 'DELETE', ...operator })
  await request(404, `${adminPath}/archive`, { method: 'DELETE', ...operator })
  await request(204, '/admin/locks/alice/site', { method: 'DELETE', ...operator })
  await request(404, '/admin/locks/alice/site', { method: 'DELETE', ...operator })
  const tokens = (await (await request(200, '/admin/tokens', operator)).json()) as { id: number }[]
  await service.token('alice')
  await request(204, `/admin/tokens/${tokens.length + 1}`, { method: 'DELETE', ...operator })
  await request(404, `/admin/tokens/${tokens.length + 1}`, { method: 'DELETE', ...operator })
  const sync = (...repositories: string[]) => ({ ...post({ repositories }), ...operator })
  await request(200, '/admin/sync', sync('alice/site'))
  await request(404, '/admin/sync', post({ repositories: ['alice/site'] }))
  await request(422, '/admin/sync', sync('alice'))
}

/** Runs every operation on webhooks at this path. */
async function runWebhooks(request: SendRequest, hooks: string): Promise<void> {
  // Nothing listens there: the attempt fails and is listed.
  const config = { url: 'http://127.0.0.1:9/', content_type: 'json', secret: 'secret' }
  await request(422, hooks, post({ config: { url: 'http://10.0.0.1/' } }))
  await request(422, hooks, post({ config: { url: 7 } }))
  await request(422, hooks, post({ config, events: ['push'] }))
  const added = await request(201, hooks, post({ name: 'web', config }))
  const { id } = (await added.json()) as { id: number }
  for (const query of PAGE_QUERIES) await request(200, `${hooks}${query}`)
  const hook = `${hooks}/${id}`
  await request(200, hook)
  await request(200, `${hook}/config`)
  await request(200, `${hook}/config`, { method: 'PATCH', body: { content_type: 'form' } })
  await request(200, hook, { method: 'PATCH', body: { events: ['migration.failed'] } })
  await request(422, hook, { method: 'PATCH', body: { config: { insecure_ssl: '1' } } })
  await request(204, `${hook}/pings`, { method: 'POST' })
  const deliveries = await until('both pings were sent', async () => {
    const all = (await (await request(200, `${hook}/deliveries`)).json()) as { id: number }[]
    return all.length === 2 && all
  })
  for (const query of [...PAGE_QUERIES, '?cursor=', `?cursor=${deliveries[1]!.id}`])
    await request(200, `${hook}/deliveries${query}`)
  await request(422, `${hook}/deliveries?cursor=x`)
  const delivery = `${hook}/deliveries/${deliveries[0]!.id}`
  await request(200, delivery)
  await request(202, `${delivery}/attempts`, { method: 'POST' })
  for (const missing of ['', '/config', '/deliveries', '/deliveries/1'])
    await request(404, `${hooks}/999${missing}`)
  await request(404, `${hook}/deliveries/999`)
  await request(204, hook, { method: 'DELETE' })
  await request(404, hook, { method: 'DELETE' })
}

type Described = Awaited<ReturnType<typeof describedService>>
type SendRequest = Described['request']

/** Runs every operation on migrations at this path, and returns the path of the migration. */
async function runMigration(described: Described, migrations: string): Promise<string> {
  const { service, alice, request } = described
  const start = { repositories: ['site', 'mould'], lock_repositories: true }
  await request(200, `${migrations}/preflight`, post({ repositories: ['site', 'broken'] }))
  await request(422, `${migrations}/preflight`, post({ repositories: [] }))
  await request(200, `${migrations}/quota`)
  await request(422, migrations, post({ repositories: ['site', 7, 'none'] }))
  await request(422, migrations, post({ repositories: ['site', 'none'] }))
  const started = await request(201, migrations, post(start))
  const path = new URL(started.headers.get('location')!).pathname
  await request(200, `${path}/locks`)
  await request(204, `${path}/repos/site/lock`, { method: 'DELETE' })
  await request(404, `${path}/repos/site/lock`, { method: 'DELETE' })
  await untilEndedAt(service, alice, path)
  await readMigration(request, migrations, path)
  await download(request, path)
  await readAndRetry(request, path)
  await runSchedule(request, migrations, (id) =>
    untilEndedAt(service, alice, `${migrations}/${id}`),
  )
  return path
}

/** Runs every operation on schedules at this path. */
async function runSchedule(
  request: SendRequest,
  migrations: string,
  untilEnded: (id: number) => Promise<unknown>,
): Promise<void> {
  const schedules = `${migrations}/schedules`
  const daily = { repositories: ['site'], every: 'day', at: '03:30', time_zone: 'Europe/Zurich' }
  await request(422, schedules, post({ ...daily, every: 'week' }))
  await request(422, schedules, post({ ...daily, at: '3 o’clock', keep: 'all' }))
  const made = await request(201, schedules, post({ ...daily, keep: 1 }))
  const path = new URL(made.headers.get('location')!).pathname
  const run = async (): Promise<number> => {
    const started = await request(201, `${path}/runs`, post())
    const { migration_id: id } = (await started.json()) as { migration_id: number }
    await untilEnded(id)
    return id
  }
  const archive = `${path}/protected-archives/${await run()}`
  await request(404, archive, { method: 'DELETE' })
  // The next archive has no git data, so the first one stays protected.
  await request(200, path, { method: 'PATCH', body: { exclude_git_data: true } })
  await run()
  await request(200, path)
  await request(204, archive, { method: 'DELETE' })
  await request(200, path, { method: 'PATCH', body: { every: 'week', weekday: 'sunday', keep: 2 } })
  await request(422, path, { method: 'PATCH', body: { time_zone: 'Mars/Olympus' } })
  for (const url of [schedules, path, `${path}/runs`]) {
    assert.ok((await request(200, url)).headers.get('etag'), url)
  }
  await request(200, `${schedules}?per_page=1`)
  await request(204, path, { method: 'DELETE' })
  for (const missing of [path, `${schedules}/x`]) {
    await request(404, missing)
    await request(404, `${missing}/runs`)
    await request(404, `${missing}/runs`, post())
    await request(404, missing, { method: 'PATCH', body: {} })
    await request(404, missing, { method: 'DELETE' })
  }
}

async function runOrganization({ service, request }: Described): Promise<void> {
  const { id } = (await (await request(200, '/orgs/octo')).json()) as { id: number }
  const numbered = `/organizations/${id}`
  await request(200, numbered)
  for (const missing of ['/orgs/none', '/orgs/%00', '/organizations/0', '/organizations/x'])
    for (const below of ['', '/migrations']) await request(404, `${missing}${below}`)
  await request(404, '/orgs/none/repos')
  await request(404, '/orgs/none/members')
  for (const query of ['', '?per_page=1&page=2', '?type=private&sort=pushed&q=SITE'])
    await request(200, `/orgs/octo/repos${query}`)
  await request(422, '/orgs/octo/repos?sort=stars')
  for (const query of ['', '?role=admin', '?role=member&per_page=1', '?role=x'])
    await request(200, `/orgs/octo/members${query}`)
  await request(204, '/orgs/octo/members/bob')
  await request(404, '/orgs/octo/members/none')
  await request(200, '/orgs/octo/memberships/bob')
  for (const path of [
    '/user/orgs',
    '/user/memberships/orgs/octo',
    '/user/memberships/orgs',
    '/user/memberships/orgs?state=pending',
  ])
    await request(200, path)
  const started = await request(
    201,
    `${numbered}/migrations`,
    post({ repositories: ['octo/site'], lock_repositories: true }),
  )
  const { id: migration } = (await started.json()) as { id: number }
  const path = `${numbered}/migrations/${migration}`
  await request(200, `${numbered}/migrations?exclude=repositories`)
  await untilEndedAt(service, await service.token('alice'), path)
  await request(200, path)
  await request(200, `${path}/repositories`)
  await request(302, `${path}/archive`)
  await request(204, `${path}/archive`, { method: 'DELETE' })
  await request(204, `${path}/repos/site/lock`, { method: 'DELETE' })
}

async function readRepositories(request: SendRequest): Promise<void> {
  const at = '/repos/alice/site'
  const below = ['', '/branches', '/tags', '/topics', '/languages', '/license', '/collaborators']
  for (const each of below) {
    const { headers } = await request(200, `${at}${each}`)
    await request(304, `${at}${each}`, { headers: { 'if-none-match': headers.get('etag')! } })
    for (const query of PAGE_QUERIES) await request(200, `${at}${each}${query}`)
    await request(404, `/repos/alice/none${each}`)
  }
  for (const query of ['?protected=true', '?protected=false', '?protected=x'])
    await request(200, `${at}/branches${query}`)
  await request(200, `${at}/collaborators?affiliation=direct&permission=push`)
  for (const [login, status] of [
    ['alice', 204],
    ['none', 404],
  ] as const)
    await request(status, `${at}/collaborators/${login}`)
  const { id, owner } = (await (await request(200, at)).json()) as {
    id: number
    owner: { id: number }
  }
  const permission = `${at}/collaborators/alice/permission`
  for (const path of [permission, `/repositories/${id}`, `/user/${owner.id}`]) {
    const { headers } = await request(200, path)
    await request(304, path, { headers: { 'if-none-match': headers.get('etag')! } })
  }
  await request(404, '/repositories/0')
  await request(200, '/zen')
  for (const path of ['/users/alice', '/users/octo', '/licenses', '/licenses/mit', '/versions']) {
    const { headers } = await request(200, path)
    await request(304, path, { headers: { 'if-none-match': headers.get('etag')! } })
  }
  for (const query of [...PAGE_QUERIES, '?featured=true']) await request(200, `/licenses${query}`)
  for (const missing of ['/users/none', '/licenses/none']) await request(404, missing)
  for (const query of [...PAGE_QUERIES, '?type=all&sort=pushed&q=SITE'])
    await request(200, `/users/alice/repos${query}`)
  await request(422, '/users/alice/repos?type=member')
  await request(404, '/users/none/repos')
  for (const page of ['/alice', '/alice/site']) {
    await request(302, page, { headers: { accept: 'text/html' } })
    await request(404, page)
    await request(400, page, { headers: { 'x-github-api-version': '1999-01-01' } })
    await request(403, page, { headers: { 'user-agent': '' } })
  }
}

async function untilEndedAt(service: SharedService, token: string, path: string): Promise<void> {
  await until(`${path} is exported`, async () => {
    const response = await service.call(token, `${path}?exclude=repositories`)
    return ((await response.json()) as { state: string }).state === 'exported'
  })
}

const PAGE_QUERIES = [
  '',
  '?per_page=abc',
  '?per_page=-1&page=0',
  '?per_page=1',
  '?page[]=x&page=2.5',
]

async function readFormerPath(request: SendRequest, path: string): Promise<void> {
  for (const query of PAGE_QUERIES)
    await request(200, path.replace('/migrations', '').concat('/repositories', query))
}

/** Reads lists and details. Every value of paging and `exclude` is accepted. */
async function readMigration(
  request: SendRequest,
  migrations: string,
  path: string,
): Promise<void> {
  for (const query of PAGE_QUERIES) {
    await request(200, `${migrations}${query}`)
    await request(200, `${migrations}/summaries${query}`)
    await request(200, `${path}/repositories${query}`)
  }
  await request(200, `${path}/summary`)
  for (const query of ['', '?exclude=repositories', '?exclude[]=a&exclude=b', '?exclude[x]=1']) {
    await request(200, `${path}${query}`)
  }
  for (const missing of [
    '',
    '/repositories',
    '/archive',
    '/progress',
    '/report',
    '/summary',
    '/locks',
    '/archive/link',
  ]) {
    await request(404, `${migrations}/99${missing}`)
  }
}

async function download(request: SendRequest, path: string): Promise<void> {
  await request(200, `${path}/archive/link`)
  const redirected = await request(302, `${path}/archive`)
  const link = redirected.headers.get('location')!
  await request(200, link)
  await request(206, link, { headers: { range: 'bytes=0-9' } })
  await request(416, link, { headers: { range: 'bytes=999999999-' } })
  await request(403, `${link}0`)
  await request(204, `${path}/archive`, { method: 'DELETE' })
  await request(404, `${path}/archive`, { method: 'DELETE' })
  await request(404, link)
}

async function readAndRetry(request: SendRequest, path: string): Promise<void> {
  await request(200, `${path}/progress`)
  await request(200, `${path}/progress`, { headers: { accept: 'text/event-stream' } })
  await request(204, `${path}/progress`, {
    headers: { accept: 'text/event-stream', 'last-event-id': '99' },
  })
  await request(200, `${path}/report`)
  await request(200, `${path}/report`, { headers: { accept: 'text/plain' } })
  await request(422, `${path}/cancel`, { method: 'POST' })
  await request(200, `${path}/retry`)
  const retried = await request(201, `${path}/retry`, { method: 'POST' })
  assert.ok(retried.headers.get('location'))
}

test('exactly the operations without their own `security` need a token', async () => {
  const { service, operations } = described
  for (const { method, path, security, operationId } of operations) {
    const url = `${service.url}${path.replaceAll(/\{\w+\}/g, '1')}`
    const { status } = await fetch(url, { method })
    assert.equal(status === 401, security === undefined, operationId)
  }
})
