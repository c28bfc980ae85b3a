import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { PREVIEW, type SharedService, untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

interface JsonResponse {
  status: number
  body: unknown
}

const NEEDS_PREVIEW =
  'If you would like to help us test the Migrations API during its preview period, you must specify a custom media ' +
  "type in the 'Accept' header. Please see the docs for full details."

async function makeHost(): Promise<GitHost> {
  const host = await gitHost()
  await host.repository('alice/site', { files: { a: '1' } })
  await host.repository('alice/blog', { files: { a: '1' } })
  await host.repository('bob/diary', {
    files: { a: '1' },
    config: { 'godwit.collaborator': 'alice:write' },
  })
  return host
}

for (const engine of ['sqlite', 'postgres'] as const) {
  describe(`the API on ${engine}`, () => {
    const t = cleanupAfterFile()
    let service: SharedService
    let alice: string

    before(async () => {
      const repositories = await makeHost()
      t.after(repositories.remove)
      const flags = ['--max-unfinished-migrations', '1', '--trusted-proxies', '127.0.0.1']
      service = await startSharedService(t, { repositories: repositories.root, engine, flags })
      alice = await service.token('alice')
    })

    test('have the complete body of GitHub’s API, and change nothing', async () => {
      const bob = await service.token('bob')
      const refusal = (status: number, message: string, more = {}) => ({
        status,
        body: {
          message,
          ...more,
          documentation_url: `${service.url}/docs`,
          status: String(status),
        },
      })
      const start = (body: unknown) =>
        request(service, alice, '/user/migrations', {
          method: 'POST',
          body: typeof body === 'string' ? body : JSON.stringify(body),
        })
      const invalid = (...errors: object[]) =>
        refusal(422, 'Validation Failed', {
          errors: errors.map((error) => ({ resource: 'Migration', ...error })),
        })
      const field = 'repositories'

      assert.deepEqual(await start('{'), refusal(400, 'Problems parsing JSON'))
      assert.deepEqual(await start('[]'), refusal(400, 'Body should be a JSON object'))
      assert.deepEqual(await start('"x"'), refusal(400, 'Body should be a JSON object'))
      assert.deepEqual(await start(''), invalid({ field, code: 'missing_field' }))
      assert.deepEqual(await start({}), invalid({ field, code: 'missing_field' }))
      assert.deepEqual(await start({ repositories: [] }), invalid({ field, code: 'missing_field' }))
      assert.deepEqual(await start({ repositories: 'site' }), invalid({ field, code: 'invalid' }))
      assert.deepEqual(
        await start({ repositories: ['site', 7, null], lock_repositories: 'yes' }),
        invalid(
          { field, code: 'invalid', index: 1 },
          { field, code: 'invalid', index: 2 },
          { field: 'lock_repositories', code: 'invalid' },
        ),
      )
      assert.deepEqual(
        await start({ repositories: ['site', 'a/b/c', '../x', 'alice/', 'sp ace'] }),
        invalid(...[1, 2, 3, 4].map((index) => ({ field, code: 'invalid', index }))),
      )
      assert.deepEqual(
        await start({ repositories: ['site', 'alice/blog', 'ALICE/Site'] }),
        invalid({ field, code: 'already_exists', index: 2 }),
      )
      // A repository without admin permissions cannot be distinguished from a missing one, whoever its owner is.
      assert.deepEqual(
        await start({ repositories: ['site', 'bob/diary', 'bob/none', 'none'] }),
        invalid(...[1, 2, 3].map((index) => ({ field, code: 'missing', index }))),
      )
      assert.deepEqual(
        await start({ repositories: ['site'], padding: 'x'.repeat(1024 * 1024) }),
        refusal(413, 'The request body is too large: 1 MiB at most'),
      )
      // The content type decides nothing, even if it is invalid.
      for (const type of ['json', '', 'application/json,application/json', 'text/plain; x']) {
        const headers = { 'content-type': type }
        const init = { method: 'POST', headers, body: '[]' }
        assert.equal((await service.call(alice, '/user/migrations', init)).status, 400, type)
      }
      assert.deepEqual(await request(service, alice, '/user/migrations'), { status: 200, body: [] })

      const started = await start({ repositories: ['site'] })
      assert.equal(started.status, 201)
      const none = await request(service, alice, '/user/migrations/2')
      assert.deepEqual(none, refusal(404, 'Not Found'))
      for (const path of [
        '1',
        '1/repositories',
        '1/archive',
        '2/repositories',
        '0',
        'x',
        '1.0',
        '-1',
        '1e0',
      ]) {
        assert.deepEqual(await request(service, bob, `/user/migrations/${path}`), none, path)
      }
      for (const path of [
        '/user/migrations/1/',
        '/user/migrations/%zz',
        '/nothing',
        '/user/migrations/9'.repeat(9),
      ]) {
        assert.deepEqual(await request(service, alice, path), none, path)
      }
      // Without this header, a page in a browser could not read the error.
      const { headers } = await fetch(`${service.url}/user/migrations/%zz`)
      assert.equal(headers.get('access-control-allow-origin'), '*')
      assert.deepEqual(await request(service, alice, '/user/migrations/1', { method: 'PUT' }), none)
      await untilEnded(service, alice, 1, 'exported')
    })

    test('ask for the preview where it is required, and nowhere else', async () => {
      const accept = { headers: { accept: 'application/json' } }
      const body = JSON.stringify({ repositories: ['site'] })
      const start = { method: 'POST', body, ...accept }
      assert.equal((await request(service, alice, '/user/migrations', start)).status, 201)
      for (const path of ['', '/1', '/1/repositories', '/1/archive', '/77']) {
        const { status, body } = await request(service, alice, `/user/migrations${path}`, accept)
        assert.equal(status, 415)
        assert.equal((body as { message: string }).message, NEEDS_PREVIEW)
      }
      const unknown = await request(service, alice, '/user/nothing', accept)
      assert.equal(unknown.status, 404)
      assert.equal((await fetch(`${service.url}/healthz`)).status, 200)
    })

    test('blocks an address that tries many tokens, but never a valid token', async () => {
      const from = async (address: string, token: string) => {
        const headers = { 'x-forwarded-for': address }
        const { status, body } = await request(service, token, '/user/migrations', { headers })
        return [status, (body as { message?: string }).message]
      }
      for (let n = 0; n <= 60; n++) {
        assert.deepEqual(await from('203.0.113.7', `guess-${n}`), [401, 'Bad credentials'])
      }
      const blocked = [403, 'Maximum number of login attempts exceeded. Please try again later.']
      assert.deepEqual(await from('203.0.113.7', 'guess'), blocked)
      const headers = { authorization: 'bearer guess', 'x-forwarded-for': '203.0.113.7' }
      const refused = await fetch(`${service.url}/user/migrations`, { headers })
      const seconds = Number(refused.headers.get('retry-after'))
      assert.ok(seconds > 500 && seconds <= 600, `${seconds} seconds`)
      assert.deepEqual(await from('203.0.113.7', alice), [200, undefined])
      assert.deepEqual(await from('203.0.113.8', alice), [200, undefined])
    })

    test('say whether credentials are missing or wrong', async () => {
      const as = async (authorization: string | undefined) => {
        const response = await fetch(`${service.url}/user/migrations`, {
          headers: { accept: PREVIEW, ...(authorization !== undefined && { authorization }) },
        })
        const { message } = (await response.json()) as { message?: string }
        return [response.status, message]
      }
      assert.deepEqual(await as(undefined), [401, 'Requires authentication'])
      for (const wrong of ['bearer nonsense', `basic ${alice}`, 'bearer', alice]) {
        assert.deepEqual(await as(wrong), [401, 'Bad credentials'], wrong)
      }
      assert.match(String(await as(`bearer ${alice}x`)), /^401,Bad credentials: .* mistyped/)
      for (const scheme of ['bearer', 'Bearer', 'token', 'TOKEN']) {
        assert.equal((await as(`${scheme} ${alice}`))[0], 200, scheme)
      }
      const expired = await service.token('alice', '--expires', '1s')
      const expiresAt = Date.now() + 1000
      await until('the token has expired', () => Date.now() > expiresAt)
      for (let n = 0; n < 3; n++)
        assert.deepEqual(await as(`bearer ${expired}`), [401, 'Bad credentials'])
      const audit = /"audit":"token.use_after_expiry","login":"alice","tokenId":\d+,"from":"127/g
      await until('its use is in the log, once', () => service.log().match(audit)?.length === 1)
      await service.godwit('token', 'remove', '1')
      assert.deepEqual(await as(`bearer ${alice}`), [401, 'Bad credentials'])
    })
  })
}

async function request(
  service: SharedService,
  token: string,
  path: string,
  init?: RequestInit,
): Promise<JsonResponse> {
  const response = await service.call(token, path, init)
  return { status: response.status, body: await response.json() }
}
