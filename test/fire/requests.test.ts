import assert from 'node:assert/strict'
import http from 'node:http'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { reportFault, seed, shortOrLong } from '../support/fire.ts'
import { gitHost } from '../support/git-host.ts'
import { type HostileRequest, hostileRequests } from '../support/hostile-requests.ts'
import type { Description } from '../support/openapi-validator.ts'
import { type Service, startService, untilEnded } from '../support/service.ts'
import { type StateWatch, watchState } from '../support/state-digest.ts'
import { TIMEOUT_MS, until } from '../support/wait-until.ts'

const REQUESTS = {
  sqlite: shortOrLong({ short: 800, long: 14_000 }),
  postgres: shortOrLong({ short: 300, long: 6000 }),
}

interface HttpResponse {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
}

for (const engine of ['sqlite', 'postgres'] as const)
  describe(`random requests on ${engine}`, () => {
    test('never cause a server error, and change nothing when they are rejected', async (t) => {
      t.diagnostic(`seed ${seed}`)
      await using host = await gitHost()
      for (const name of ['alice/site', 'alice/blog', 'bob/diary', 'bob/blog'])
        await host.repository(name, { files: { a: name } })
      await host.repository('alice/broken', { files: { a: 'x' } })
      await host.loseObjects('alice/broken')
      const service = await startService(t, {
        repositories: host.root,
        engine,
        flags: ['--rate-limit', '0', '--trusted-proxies', '127.0.0.1', '--log-level', 'warn'],
      })
      const scene = await createMigrations(service)
      const description = (await (await fetch(`${service.url}/openapi.json`)).json()) as Description
      const state = await watchState(t, service)
      const agent = new http.Agent({ keepAlive: true })
      t.after(() => agent.destroy())

      let [sent, rejected] = [0, 0]
      const statuses = new Map<number, number>()
      let before = await digestWhenIdle(state)
      const property = fc.asyncProperty(hostileRequests(description, scene), async (request) => {
        sent++
        const response = await send(service, agent, request)
        statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1)
        assert.ok(response.status < 500, `${response.status} ${response.text}`)
        assertErrorFormat(response)
        if (response.status >= 400) {
          rejected++
          assert.deepEqual(
            await state.digest(),
            before,
            `a request that got ${response.status} changed the database`,
          )
        } else if (!['GET', 'HEAD', 'OPTIONS'].includes(request.method)) {
          before = await digestWhenIdle(state)
        }
      })
      await fc.assert(property, { seed, numRuns: REQUESTS[engine], endOnFailure: false })
      t.diagnostic(JSON.stringify(Object.fromEntries(statuses)))
      assert.equal((await fetch(`${service.url}/readyz`)).status, 200)
      assert.ok(rejected > sent / 4 && rejected < sent, `${rejected} of ${sent} were rejected`)
      reportFault(
        t,
        'random requests with hostile values',
        sent,
        'never a 5xx; rejected requests change nothing',
      )
    })
  })

/** Creates migrations of every kind for Alice and Bob, and tokens for both and an operator. */
async function createMigrations(service: Service) {
  await service.godwit('account', 'add', 'operator', '--site-admin')
  const tokens = await Promise.all(
    ['alice', 'bob', 'operator'].map((login) => service.token(login)),
  )
  const start = async (token: string, repositories: string[], more = {}) => {
    const body = JSON.stringify({ repositories, ...more })
    const response = await service.call(token, '/user/migrations', { method: 'POST', body })
    const { id } = (await response.json()) as { id: number }
    await untilEnded(service, token, id)
    return id
  }
  const ids = [
    await start(tokens[0]!, ['site'], { lock_repositories: true }),
    await start(tokens[0]!, ['broken']),
    await start(tokens[0]!, ['site', 'broken'], { allow_partial: true }),
    await start(tokens[1]!, ['diary']),
  ]
  const repositories = ['alice/site', 'alice/blog', 'alice/broken', 'bob/diary', 'bob/blog']
  return { tokens, ids, repositories: [...repositories, 'alice/none', 'nobody/none'] }
}

async function digestWhenIdle(state: StateWatch): ReturnType<StateWatch['digest']> {
  await until('no migration runs and no lock is pending', () => state.isIdle())
  return state.digest()
}

function send(
  service: Service,
  agent: http.Agent | undefined,
  request: HostileRequest,
): Promise<HttpResponse> {
  const { method, target, body } = request
  // Node does not send a content length for methods that usually have no body.
  const headers = { ...request.headers, ...(body && { 'content-length': String(body.length) }) }
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>()
  const { hostname, port } = new URL(service.url)
  const outgoing = http.request(
    { agent: agent ?? false, hostname, port, method, path: target, headers },
    (response) => {
      const { statusCode: status = 0, headers } = response
      let text = ''
      const done = () => resolve({ status, headers, text })
      // Event streams stay open while a migration is running.
      if (headers['content-type']?.includes('event-stream')) {
        outgoing.destroy()
        return done()
      }
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', done).on('error', reject)
    },
  )
  outgoing.setTimeout(TIMEOUT_MS, () => outgoing.destroy(new Error('no response in time')))
  // The server may close an idle connection between two requests; the client retries.
  outgoing.on('error', (error) =>
    outgoing.reusedSocket ? resolve(send(service, undefined, request)) : reject(error),
  )
  outgoing.end(body)
  return promise
}

function assertErrorFormat({ status, headers, text }: HttpResponse): void {
  assert.doesNotMatch(text, /\bat .*\.ts:\d+|node_modules/, 'a response shows a stack trace')
  if (status < 400 || text === '' || !headers['content-type']?.includes('json')) return
  const { message } = JSON.parse(text) as { message?: unknown }
  assert.equal(typeof message, 'string', text)
}
