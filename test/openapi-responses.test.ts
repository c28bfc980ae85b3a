import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { cleanupAfterFile } from './support/file-cleanup.ts'
import { type GitHost, gitHost } from './support/git-host.ts'
import {
  type DescribedAnswer,
  type Description,
  type Operation,
  openApiValidator,
} from './support/openapi-validator.ts'
import type { SharedService } from './support/service.ts'
import { startSharedService } from './support/service-row.ts'
import { slowGit } from './support/slow-git.ts'
import { until } from './support/wait-until.ts'

/** Headers that the description must name. */
const IMPORTANT_HEADERS =
  /^(etag|link|location|retry-after|content-range|content-disposition|accept-ranges|x-github-.+|x-ratelimit-.+)$/

const PAGES = ['/', '/meta', '/healthz', '/readyz', '/metrics', '/docs', '/openapi.json']

interface Asked {
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

  /** Sends a request, checks status, type, headers and body of the response against the description, and returns it. */
  async function ask(expected: number, path: string, asked: Asked = {}): Promise<Response> {
    const { method = 'GET', body, headers = {}, token = alice } = asked
    const answer = await service.call(token, path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const what = `${method} ${path} → ${answer.status}`
    assert.equal(answer.status, expected, what)
    const operation = operationFor(validator.operations, method, new URL(answer.url).pathname)
    const response = operation.responses[answer.status]
    assert.ok(response, `${what} is not described`)
    seen.add(`${operation.operationId} ${answer.status}`)
    await check(answer.clone(), validator.lookup<DescribedAnswer>(response), what)
    return answer
  }

  async function check(answer: Response, described: DescribedAnswer, what: string): Promise<void> {
    const { content = {}, headers = {} } = described
    const important = [...answer.headers.keys()].filter((name) => IMPORTANT_HEADERS.test(name))
    assert.deepEqual(
      important.filter((name) => !(name in headers)),
      [],
      `headers of ${what}`,
    )
    const text = await answer.text()
    if (text === '') return assert.deepEqual(content, {}, what)
    const type = answer.headers.get('content-type')!.split(';')[0]!
    const { schema } = content[type] ?? assert.fail(`${what}: ${type} is not described`)
    validator.assertValid(schema, type.endsWith('json') ? JSON.parse(text) : text, what)
  }

  return { service, alice, git, ask, seen, operations: validator.operations }
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

const wholeFile = cleanupAfterFile()
let described: Described

before(async () => {
  described = await describedService(wholeFile)
})

test('every response of every operation matches the description', async () => {
  const { service, git, ask, seen, operations } = described
  for (const [at, migrations] of ['/user/migrations', '/orgs/Octo/migrations'].entries()) {
    await ask(201, migrations, post({ repositories: ['site'] }))
    // It waits for git until the test releases it.
    await ask(422, `${migrations}/${at + 1}/retry`, post())
    await ask(200, `${migrations}/${at + 1}/cancel`, post())
  }
  await service.godwit('account', 'add', 'keeper', '--site-admin')
  const keeper = { token: await service.token('keeper') }
  await ask(201, '/user/migrations', post({ repositories: ['site'] }))
  await ask(200, '/admin/migrations/3/cancel', { ...post(), ...keeper })
  await git.speedUp()
  const path = await liveLife(described, '/user/migrations')
  await seeFormerly(ask, path)
  await liveLife(described, '/orgs/octo/migrations')
  await seeOrganizations(described)

  await seeRepositories(ask)

  await ask(200, '/user')
  for (const query of ['', '?q=SITE&sort=pushed&type=owner', '?per_page=1']) {
    await ask(200, `/user/repos${query}`)
  }
  await ask(422, '/user/repos?sort=stars')
  await ask(422, '/user/repos?type=all&visibility=all')
  await ask(200, '/rate_limit')
  await ask(200, '/user/locks')
  const ours = { headers: { 'x-godwit-session': '1' } }
  await ask(200, '/session', ours)
  await ask(403, '/session', post({ token: described.alice }))
  await ask(401, '/session', { ...post({ token: 'gwt_wrong' }), ...ours })
  await ask(201, '/session', { ...post({ token: described.alice }), ...ours })
  await ask(204, '/session', { method: 'DELETE', ...ours })
  await ask(200, '/admin/service', keeper)
  await ask(422, '/admin/service?period=year', keeper)
  await ask(404, '/admin/service')
  await operate(ask, keeper, described)
  for (const hooks of ['/user/hooks', '/orgs/Octo/hooks']) await seeWebhooks(ask, hooks)
  for (const page of PAGES) await ask(200, page)
  for (const url of [
    '/user',
    '/user/repos',
    `${path}/summary`,
    '/user/migrations',
    path,
    `${path}/repositories`,
    '/docs',
  ]) {
    const etag = (await ask(200, url)).headers.get('etag')!
    await ask(304, url, { headers: { 'if-none-match': etag } })
  }
  await ask(400, '/user', { headers: { 'x-github-api-version': '1999-01-01' } })
  await ask(415, '/user/migrations', { headers: { accept: 'application/json' } })

  const unseen = operations.filter(
    ({ operationId }) => ![...seen].some((each) => each.startsWith(`${operationId} 2`)),
  )
  // The success of these operations is a redirect.
  assert.deepEqual(
    unseen.map(({ operationId }) => operationId),
    [
      'service/repository-page',
      'migrations/get-archive-for-authenticated-user',
      'migrations/download-archive-for-org',
      'migrations/download-archive-for-org-id',
    ],
  )
})

/** Runs every action of an operator on migrations of alice. */
async function operate(ask: Ask, keeper: { token: string }, { service }: Described): Promise<void> {
  const start = { repositories: ['site'], lock_repositories: true }
  const started = await ask(201, '/user/migrations', post(start))
  const { id } = (await started.json()) as { id: number }
  await untilEndedAt(service, await service.token('alice'), `/user/migrations/${id}`)
  const any = `/admin/migrations/${id}`
  await ask(404, `${any}/cancel`, post())
  await ask(422, `${any}/cancel`, { ...post(), ...keeper })
  const again = await ask(201, `${any}/retry`, { ...post({ allow_partial: true }), ...keeper })
  const next = (await again.json()) as { id: number }
  await untilEndedAt(service, await service.token('alice'), `/user/migrations/${next.id}`)
  await ask(204, `${any}/archive`, { method: 'DELETE', ...keeper })
  await ask(404, `${any}/archive`, { method: 'DELETE', ...keeper })
  await ask(204, '/admin/locks/alice/site', { method: 'DELETE', ...keeper })
  await ask(404, '/admin/locks/alice/site', { method: 'DELETE', ...keeper })
  const tokens = (await (await ask(200, '/admin/tokens', keeper)).json()) as { id: number }[]
  await service.token('alice')
  await ask(204, `/admin/tokens/${tokens.length + 1}`, { method: 'DELETE', ...keeper })
  await ask(404, `/admin/tokens/${tokens.length + 1}`, { method: 'DELETE', ...keeper })
}

/** Runs every operation on webhooks at this path. */
async function seeWebhooks(ask: Ask, hooks: string): Promise<void> {
  // Nothing listens there: the attempt fails and is listed.
  const config = { url: 'http://127.0.0.1:9/', content_type: 'json', secret: 'secret' }
  await ask(422, hooks, post({ config: { url: 'http://10.0.0.1/' } }))
  await ask(422, hooks, post({ config: { url: 7 } }))
  await ask(422, hooks, post({ config, events: ['push'] }))
  const added = await ask(201, hooks, post({ name: 'web', config }))
  const { id } = (await added.json()) as { id: number }
  for (const query of NONSENSE) await ask(200, `${hooks}${query}`)
  const hook = `${hooks}/${id}`
  await ask(200, hook)
  await ask(200, `${hook}/config`)
  await ask(200, `${hook}/config`, { method: 'PATCH', body: { content_type: 'form' } })
  await ask(200, hook, { method: 'PATCH', body: { events: ['migration.failed'] } })
  await ask(422, hook, { method: 'PATCH', body: { config: { insecure_ssl: '1' } } })
  await ask(204, `${hook}/pings`, { method: 'POST' })
  const deliveries = await until('both pings were sent', async () => {
    const all = (await (await ask(200, `${hook}/deliveries`)).json()) as { id: number }[]
    return all.length === 2 && all
  })
  for (const query of [...NONSENSE, '?cursor=x', `?cursor=${deliveries[1]!.id}`])
    await ask(200, `${hook}/deliveries${query}`)
  const delivery = `${hook}/deliveries/${deliveries[0]!.id}`
  await ask(200, delivery)
  await ask(202, `${delivery}/attempts`, { method: 'POST' })
  for (const missing of ['', '/config', '/deliveries', '/deliveries/1'])
    await ask(404, `${hooks}/999${missing}`)
  await ask(404, `${hook}/deliveries/999`)
  await ask(204, hook, { method: 'DELETE' })
  await ask(404, hook, { method: 'DELETE' })
}

type Described = Awaited<ReturnType<typeof describedService>>
type Ask = Described['ask']

/** Runs every operation on migrations at this path, and returns the path of the migration. */
async function liveLife(described: Described, migrations: string): Promise<string> {
  const { service, alice, ask } = described
  const start = { repositories: ['site', 'mould'], lock_repositories: true }
  await ask(200, `${migrations}/preflight`, post({ repositories: ['site', 'broken'] }))
  await ask(422, `${migrations}/preflight`, post({ repositories: [] }))
  await ask(422, migrations, post({ repositories: ['site', 7, 'none'] }))
  await ask(422, migrations, post({ repositories: ['site', 'none'] }))
  const started = await ask(201, migrations, post(start))
  const path = new URL(started.headers.get('location')!).pathname
  await ask(200, `${path}/locks`)
  await ask(204, `${path}/repos/site/lock`, { method: 'DELETE' })
  await ask(404, `${path}/repos/site/lock`, { method: 'DELETE' })
  await untilEndedAt(service, alice, path)
  await seeAll(ask, migrations, path)
  await download(ask, path)
  await steer(ask, path)
  await schedule(ask, migrations, (id) => untilEndedAt(service, alice, `${migrations}/${id}`))
  return path
}

/** Runs every operation on schedules at this path. */
async function schedule(
  ask: Ask,
  migrations: string,
  untilEnded: (id: number) => Promise<unknown>,
): Promise<void> {
  const schedules = `${migrations}/schedules`
  const daily = { repositories: ['site'], every: 'day', at: '03:30', time_zone: 'Europe/Zurich' }
  await ask(422, schedules, post({ ...daily, every: 'week' }))
  await ask(422, schedules, post({ ...daily, at: '3 o’clock', keep: 'all' }))
  const made = await ask(201, schedules, post({ ...daily, keep: 1 }))
  const path = new URL(made.headers.get('location')!).pathname
  const run = async (): Promise<number> => {
    const started = await ask(201, `${path}/runs`, post())
    const { migration_id: id } = (await started.json()) as { migration_id: number }
    await untilEnded(id)
    return id
  }
  const archive = `${path}/protected-archives/${await run()}`
  await ask(404, archive, { method: 'DELETE' })
  // Only the first archive holds git data then.
  await ask(200, path, { method: 'PATCH', body: { exclude_git_data: true } })
  await run()
  await ask(200, path)
  await ask(204, archive, { method: 'DELETE' })
  await ask(200, path, { method: 'PATCH', body: { every: 'week', weekday: 'sunday', keep: 2 } })
  await ask(422, path, { method: 'PATCH', body: { time_zone: 'Mars/Olympus' } })
  for (const seen of [schedules, path, `${path}/runs`]) {
    const etag = (await ask(200, seen)).headers.get('etag')!
    assert.ok(etag)
  }
  await ask(200, `${schedules}?per_page=1`)
  await ask(204, path, { method: 'DELETE' })
  for (const missing of [path, `${schedules}/x`]) {
    await ask(404, missing)
    await ask(404, `${missing}/runs`)
    await ask(404, `${missing}/runs`, post())
    await ask(404, missing, { method: 'PATCH', body: {} })
    await ask(404, missing, { method: 'DELETE' })
  }
}

async function seeOrganizations({ service, ask }: Described): Promise<void> {
  const { id } = (await (await ask(200, '/orgs/octo')).json()) as { id: number }
  const numbered = `/organizations/${id}`
  await ask(200, numbered)
  for (const missing of ['/orgs/none', '/orgs/%00', '/organizations/0', '/organizations/x'])
    for (const below of ['', '/migrations']) await ask(404, `${missing}${below}`)
  await ask(404, '/orgs/none/repos')
  await ask(404, '/orgs/none/members')
  for (const query of ['', '?per_page=1&page=2', '?type=private&sort=pushed&q=SITE'])
    await ask(200, `/orgs/octo/repos${query}`)
  await ask(422, '/orgs/octo/repos?sort=stars')
  for (const query of ['', '?role=admin', '?role=member&per_page=1', '?role=x'])
    await ask(200, `/orgs/octo/members${query}`)
  for (const path of [
    '/user/orgs',
    '/user/memberships/orgs',
    '/user/memberships/orgs?state=pending',
  ])
    await ask(200, path)
  const started = await ask(
    201,
    `${numbered}/migrations`,
    post({ repositories: ['octo/site'], lock_repositories: true }),
  )
  const { id: migration } = (await started.json()) as { id: number }
  const path = `${numbered}/migrations/${migration}`
  await ask(200, `${numbered}/migrations?exclude=repositories`)
  await untilEndedAt(service, await service.token('alice'), path)
  await ask(200, path)
  await ask(200, `${path}/repositories`)
  await ask(302, `${path}/archive`)
  await ask(204, `${path}/archive`, { method: 'DELETE' })
  await ask(204, `${path}/repos/site/lock`, { method: 'DELETE' })
}

async function seeRepositories(ask: Ask): Promise<void> {
  const at = '/repos/alice/site'
  const below = ['', '/branches', '/tags', '/topics', '/languages', '/license', '/collaborators']
  for (const each of below) {
    const { headers } = await ask(200, `${at}${each}`)
    await ask(304, `${at}${each}`, { headers: { 'if-none-match': headers.get('etag')! } })
    for (const query of NONSENSE) await ask(200, `${at}${each}${query}`)
    await ask(404, `/repos/alice/none${each}`)
  }
  for (const query of ['?protected=true', '?protected=false', '?protected=x'])
    await ask(200, `${at}/branches${query}`)
  await ask(200, `${at}/collaborators?affiliation=direct&permission=push`)
  for (const path of ['/users/alice', '/users/octo', '/licenses', '/licenses/mit', '/versions']) {
    const { headers } = await ask(200, path)
    await ask(304, path, { headers: { 'if-none-match': headers.get('etag')! } })
  }
  for (const query of [...NONSENSE, '?featured=true']) await ask(200, `/licenses${query}`)
  for (const missing of ['/users/none', '/licenses/none']) await ask(404, missing)
  await ask(302, '/alice/site', { headers: { accept: 'text/html' } })
  await ask(404, '/alice/site')
}

async function untilEndedAt(service: SharedService, token: string, path: string): Promise<void> {
  await until(`${path} is exported`, async () => {
    const answer = await service.call(token, `${path}?exclude=repositories`)
    return ((await answer.json()) as { state: string }).state === 'exported'
  })
}

const NONSENSE = ['', '?per_page=abc', '?per_page=-1&page=0', '?per_page=1', '?page[]=x&page=2.5']

async function seeFormerly(ask: Ask, path: string): Promise<void> {
  for (const query of NONSENSE)
    await ask(200, path.replace('/migrations', '').concat('/repositories', query))
}

/** Paging and `exclude` accept every value. */
async function seeAll(ask: Ask, migrations: string, path: string): Promise<void> {
  for (const query of NONSENSE) {
    await ask(200, `${migrations}${query}`)
    await ask(200, `${migrations}/summaries${query}`)
    await ask(200, `${path}/repositories${query}`)
  }
  await ask(200, `${path}/summary`)
  for (const query of ['', '?exclude=repositories', '?exclude[]=a&exclude=b', '?exclude[x]=1']) {
    await ask(200, `${path}${query}`)
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
    await ask(404, `${migrations}/99${missing}`)
  }
}

async function download(ask: Ask, path: string): Promise<void> {
  await ask(200, `${path}/archive/link`)
  const redirected = await ask(302, `${path}/archive`)
  const link = redirected.headers.get('location')!
  await ask(200, link)
  await ask(206, link, { headers: { range: 'bytes=0-9' } })
  await ask(416, link, { headers: { range: 'bytes=999999999-' } })
  await ask(403, `${link}0`)
  await ask(204, `${path}/archive`, { method: 'DELETE' })
  await ask(404, `${path}/archive`, { method: 'DELETE' })
  await ask(404, link)
}

async function steer(ask: Ask, path: string): Promise<void> {
  await ask(200, `${path}/progress`)
  await ask(200, `${path}/progress`, { headers: { accept: 'text/event-stream' } })
  await ask(204, `${path}/progress`, {
    headers: { accept: 'text/event-stream', 'last-event-id': '99' },
  })
  await ask(200, `${path}/report`)
  await ask(200, `${path}/report`, { headers: { accept: 'text/plain' } })
  await ask(422, `${path}/cancel`, { method: 'POST' })
  await ask(200, `${path}/retry`)
  const retried = await ask(201, `${path}/retry`, { method: 'POST' })
  assert.ok(retried.headers.get('location'))
}

test('exactly the operations that the description marks need a token', async () => {
  const { service, operations } = described
  for (const { method, path, security, operationId } of operations) {
    const url = `${service.url}${path.replaceAll(/\{\w+\}/g, '1')}`
    const { status } = await fetch(url, { method })
    assert.equal(status === 401, security === undefined, operationId)
  }
})
