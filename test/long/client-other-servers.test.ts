import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { clientCommandLine } from '../support/client-command-line.ts'
import { fakeServer, type RequestHandler, sendJson } from '../support/fake-server.ts'
import { freePort } from '../support/free-port.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { until } from '../support/wait-until.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const TOKEN = 'ghp_C4n4ryOfAnotherMine0123456789'
const PREVIEW = 'application/vnd.github.wyandotte-preview+json'

const migrationJson = (state: string) => ({
  id: 79,
  guid: '0b989ba4-242f-11e5-81e1-c7b6966d2516',
  state,
  lock_repositories: true,
  repositories: [],
  created_at: '2015-07-06T15:33:38.000-07:00',
  updated_at: '2015-07-06T15:33:38.000-07:00',
})

const NOT_FOUND = { message: 'Not Found', documentation_url: 'https://docs.example', status: '404' }

/** Makes an archive with GNU tar that has a symbolic link. */
function makeForeignArchive(t: TestContext): Buffer {
  const folder = temporaryDirectory(t)
  mkdirSync(join(folder, 'repositories'))
  writeFileSync(join(folder, 'repositories/a'), 'x'.repeat(100_000))
  symlinkSync('a', join(folder, 'repositories/link'))
  return execFileSync('tar', ['czf', '-', '-C', folder, '.'])
}

test('the client works with a server that has only GitHub’s API', async (t) => {
  const archive = makeForeignArchive(t)
  const bucket = await fakeServer(t, (_request, response) => {
    response.writeHead(200, {
      'content-length': archive.length,
      'content-type': 'application/gzip',
    })
    response.end(archive)
  })
  const states = ['pending', 'pending', 'exporting', 'exporting', 'exporting', 'exported']
  let stateIndex = -1
  const github = await fakeServer(t, ({ method, path, headers }, response) => {
    if (method === 'POST' && path === '/user/migrations')
      return sendJson(response, 201, migrationJson('pending'))
    if (path.startsWith('/user/migrations/79?')) {
      stateIndex = Math.min(stateIndex + 1, states.length - 1)
      const etag = `W/"${states[stateIndex]}"`
      if (headers['if-none-match'] === etag) return response.writeHead(304, { etag }).end()
      return sendJson(response, 200, migrationJson(states[stateIndex]!), { etag })
    }
    if (path === '/user/migrations/79/archive')
      return response.writeHead(302, { location: `${bucket.url}/signed?secret=1` }).end()
    sendJson(response, 404, NOT_FOUND)
  })
  const { migration, folder } = await clientCommandLine(t, { url: github.url, token: TOKEN })

  const started = await migration(0, 'start', 'octocat/hello', '--lock-repositories', '--watch')
  assert.equal(started.out, '79')
  assert.match(
    started.err,
    /^migration 79 is pending\nmigration 79 is exporting\nmigration 79 is exported\n$/,
  )
  const post = github.requests.find(({ method }) => method === 'POST')!
  assert.deepEqual(JSON.parse(post.body), {
    repositories: ['octocat/hello'],
    lock_repositories: true,
  })
  for (const { path, headers } of github.requests) {
    assert.equal(headers.authorization, `bearer ${TOKEN}`, path)
    assert.match(headers['user-agent']!, /^godwit\//)
    if (!path.endsWith('/progress')) assert.equal(headers.accept, PREVIEW)
  }
  const polls = github.requests.filter(
    ({ path }) => path === '/user/migrations/79?exclude=repositories',
  )
  assert.ok(polls.some(({ headers }) => headers['if-none-match'] === 'W/"exporting"'))

  const { out, err } = await migration(0, 'download', '79')
  assert.match(out, /, the gzip checksum is correct$/)
  assert.ok(!`${out}${err}`.includes('secret='))
  assert.deepEqual(await readFile(join(folder, 'migration-79.tar.gz')), archive)
  assert.deepEqual(
    bucket.requests.map(({ headers }) => headers.authorization),
    [undefined],
    'the token was sent to another origin',
  )
  assert.match((await migration(3, 'start', 'a/b', '--preflight')).err, /has no preflight/)
  assert.match(
    (await migration(3, 'report', '79')).err,
    /no migration 79 .*, or no reports: only Godwit servers have them/,
  )
})

test('lists are paginated, and a link to another host does not get the token', async (t) => {
  const elsewhere = await fakeServer(t, (_request, response) =>
    sendJson(response, 200, [{ full_name: 'octo/five', private: false }]),
  )
  const github = await fakeServer(t, ({ path }, response) => {
    const page = Number(new URL(path, 'http://x').searchParams.get('page') ?? 1)
    const next = page === 1 ? `${github.url}${path}&page=2` : `${elsewhere.url}/more`
    const names = [`octo/${page}a`, `octo/${page}b`]
    const body = names.map((full_name) => ({ full_name, private: false }))
    sendJson(response, 200, body, { link: `<${next}>; rel="next"` })
  })
  const { migration } = await clientCommandLine(t, { url: github.url, token: TOKEN })
  const { out } = await migration(0, 'repositories', '79', '--json')
  assert.deepEqual(
    JSON.parse(out).map(({ full_name }: { full_name: string }) => full_name),
    ['octo/1a', 'octo/1b', 'octo/2a', 'octo/2b', 'octo/five'],
  )
  assert.match(github.requests[0]!.path, /per_page=100/)
  assert.equal(elsewhere.requests[0]!.headers.authorization, undefined)
})

test('the client retries when Retry-After or the rate limit allows it', async (t) => {
  const refusals: [status: number, headers: Record<string, string>][] = [
    [429, { 'retry-after': '0' }],
    [503, { 'retry-after': new Date(0).toUTCString() }],
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1' }],
  ]
  const busy = await fakeServer(t, (_request, response) => {
    const [status, headers] = refusals.shift() ?? [200, {}]
    sendJson(
      response,
      status,
      status === 200 ? migrationJson('exported') : { message: 'Later' },
      headers,
    )
  })
  const { migration } = await clientCommandLine(t, { url: busy.url, token: TOKEN })
  const { err } = await migration(0, 'show', '79')
  assert.equal(
    busy.requests.length,
    5,
    'three rejections, the migration, and a request that only Godwit servers know',
  )
  assert.match(err, /is busy: trying again in 0 s/)
  refusals.push([403, { 'retry-after': '1800' }])
  assert.match(
    (await migration(4, 'show', '79')).err,
    /limits the rate of requests: Later. Try again in 30 min/,
  )
  refusals.push([404, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '9999999999' }])
  assert.match((await migration(3, 'show', '79')).err, /has no migration 79 /)
})

test('the list uses the summaries of a Godwit server', async (t) => {
  const counts = { total: 3, exported: 2, skipped: 1 }
  const { created_at } = migrationJson('exported')
  const summary = { id: 79, state: 'exported', created_at, repositories: counts, archive: null }
  const server = await fakeServer(t, ({ path }, response) =>
    path.startsWith('/user/migrations/summaries?')
      ? sendJson(response, 200, [summary, { ...summary, id: 78, archive: undefined }])
      : sendJson(response, 200, [migrationJson('exported')]),
  )
  const { migration } = await clientCommandLine(t, { url: server.url, token: TOKEN })
  const { out } = await migration(0, 'list')
  for (const id of [79, 78])
    assert.match(out, new RegExp(`^${id} +partial +2 of 3, 1 skipped +.* -$`, 'm'))
  assert.equal(server.requests.length, 1)
  assert.equal(JSON.parse((await migration(0, 'list', '--json')).out)[0].guid.length, 36)
})

test('a download exits with 4, and keeps the archive, if the server cannot report skipped repositories', async (t) => {
  const archive = makeForeignArchive(t)
  const server = await fakeServer(t, ({ path }, response) => {
    if (path.endsWith('/summary')) return sendJson(response, 502, { message: 'Bad Gateway' })
    if (path.endsWith('/archive')) return response.writeHead(302, { location: '/bytes' }).end()
    if (path === '/bytes') return response.writeHead(200).end(archive)
    if (path.endsWith('/progress')) return sendJson(response, 404, NOT_FOUND)
    sendJson(response, 200, migrationJson('exported'))
  })
  const { migration, folder } = await clientCommandLine(t, { url: server.url, token: TOKEN })
  for (const command of ['watch', 'download'])
    assert.match(
      (await migration(4, command, '79')).err,
      /502 Bad Gateway.*; whether anything is missing is unknown: .*`godwit migration show 79`/,
    )
  assert.deepEqual(await readdir(folder), ['migration-79.tar.gz'])
})

test('the result of a watch is taken from its events if the summary is unavailable', async (t) => {
  const totals = { repositories: 3, exported: 3, skipped: 0, remaining: 0, bytes_done: 1 }
  const event = (name: string, data: object) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
  const server = await fakeServer(t, ({ path }, response) => {
    if (/\/(summary|report)$/.test(path)) return sendJson(response, 502, { message: 'Bad Gateway' })
    if (!path.endsWith('/progress')) return sendJson(response, 200, migrationJson('exporting'))
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event('progress', totals))
    response.end(event('end', { state: 'exported', reason: null }))
  })
  const { migration } = await clientCommandLine(t, { url: server.url, token: TOKEN })
  await migration(0, 'watch', '79')
  Object.assign(totals, { exported: 2, skipped: 1 })
  assert.match(
    (await migration(5, 'watch', '79')).err,
    /partly exported: 2 of 3 repositories, 1 skipped\n.*502 Bad Gateway.*; `godwit migration show 79` lists them/,
  )
  Object.assign(totals, { remaining: 1, skipped: 0 })
  assert.match((await migration(4, 'watch', '79')).err, /whether anything is missing is unknown/)
})

test('a damaged archive is rejected', async (t) => {
  const archive = makeForeignArchive(t)
  archive[archive.length - 6]! ^= 1
  const server = await fakeServer(t, ({ path }, response) => {
    if (path.endsWith('/archive')) response.writeHead(302, { location: '/bytes' }).end()
    else response.writeHead(200, { 'content-length': archive.length }).end(archive)
  })
  const { migration, folder } = await clientCommandLine(t, { url: server.url, token: TOKEN })
  assert.match((await migration(1, 'download', '79')).err, /damaged .*download it again/)
  assert.deepEqual(await readdir(folder), [])
})

test('every error says what failed and what to do next', async (t) => {
  const responses: Record<string, RequestHandler> = {
    '/user/migrations/401': (_, response) =>
      sendJson(response, 401, { message: 'Bad credentials' }),
    '/user/migrations/404': (_, response) => sendJson(response, 404, NOT_FOUND),
    '/user/migrations/415': (_, response) => sendJson(response, 415, { message: 'Unsupported' }),
    '/user/migrations/500': (_, response) =>
      sendJson(response, 500, { message: 'Server Error' }, { 'x-github-request-id': 'AB:CD' }),
    '/user/migrations/200': (_, response) => response.end('<html>Welcome'),
    '/user/migrations': (_, response) =>
      sendJson(response, 422, {
        message: 'Validation Failed',
        errors: [
          { resource: 'Migration', field: 'repositories', code: 'invalid', index: 1 },
          { resource: 'Migration', code: 'custom', message: 'Too many unfinished migrations.' },
        ],
      }),
  }
  const server = await fakeServer(t, (request, response) =>
    responses[request.path.split('?')[0]!]!(request, response),
  )
  const { url } = server
  const { migration } = await clientCommandLine(t, { url, token: TOKEN })
  const expected: [code: number, args: string[], message: RegExp][] = [
    [3, ['show', '401'], /does not accept the token \(Bad credentials\).*--token-file/],
    [3, ['show', '404'], /has no migration 404 .*`godwit migration list`/],
    [3, ['show', '415'], /check --vendor/],
    [4, ['show', '500'], /failed: 500 Server Error; request ID AB:CD/],
    [3, ['show', '200'], /is not a server of this API: check --url/],
    [
      3,
      ['start', 'a/b', 'a/nope'],
      /Validation Failed\n {2}a\/nope: this account may not migrate this repository, or it does not exist\n {2}Too many/,
    ],
    [2, ['show', 'seven'], /^godwit: 'seven' is not a migration ID \(a number, such as 7\)$/m],
    [2, ['start'], /no repositories: give OWNER\/NAME or OWNER, or --all/],
    [2, ['shwo', '7'], /unknown command 'shwo'\n\(Did you mean show\?\)/],
    [2, ['list', '--jsno'], /unknown option '--jsno'\n\(Did you mean --json\?\)/],
    [2, ['show', '1', '--url', 'ftp://x'], /--url: must be an http or https address/],
    [2, ['show', '1', '--token-file', '/nowhere'], /the token file cannot be read: ENOENT/],
    [
      4,
      ['show', '1', '--url', `http://127.0.0.1:${await freePort()}`],
      /no server at .*: check that it is running/,
    ],
    [4, ['show', '1', '--url', 'http://nowhere.invalid'], /no such host: nowhere.invalid/],
    [
      4,
      ['show', '1', '--url', url.replace('http:', 'https:')],
      /no TLS connection to https:.* \(ERR_SSL_\w+\): check http or https in --url/,
    ],
  ]
  for (const [code, args, message] of expected) {
    const { out, err } = await migration(code, ...args)
    assert.match(err, message)
    assert.equal(out, '')
    assert.doesNotMatch(err, /\n {4}at /)
  }
})

test('a start whose response is lost says that it may have happened', async (t) => {
  const server = await fakeServer(t, (_request, response) => response.destroy())
  const { migration } = await clientCommandLine(t, { url: server.url, token: TOKEN })
  const { err } = await migration(4, 'start', 'a/b')
  assert.match(err, /the migration may have started: check with `godwit migration list`/)
  assert.match(err, /^godwit: the connection to .* broke: /m)
  assert.equal(server.requests.length, 1, 'the request was repeated')

  const proxy = await fakeServer(t, ({ method }, response) =>
    method === 'POST'
      ? sendJson(response, 504, { message: 'Gateway Timeout' })
      : sendJson(response, 404, NOT_FOUND),
  )
  for (const command of [
    ['start', 'a/b'],
    ['retry', '79'],
  ])
    assert.match(
      (await migration(4, ...command, '--url', proxy.url)).err,
      /the migration may have started: check with `godwit migration list`\n.*504 Gateway Timeout/,
    )
})

test('a list whose reader closes the pipe is not an error', async (t) => {
  const many = Array.from({ length: 20_000 }, (_, id) => ({ ...migrationJson('failed'), id }))
  const server = await fakeServer(t, (_request, response) => sendJson(response, 200, many))
  const { folder, env } = await clientCommandLine(t, { url: server.url, token: TOKEN })
  const line = `set -o pipefail; ${GODWIT} migration list | head -n 2`
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', line], { cwd: folder, env })
  assert.match(stdout, /^ID .*\n0 +failed/)
  assert.equal(stderr, '')
})

test('a token among the arguments is accepted with a warning', async (t) => {
  const server = await fakeServer(t, (_request, response) => sendJson(response, 200, []))
  const { migration } = await clientCommandLine(t, { url: server.url, token: 'in the file' })
  const { err } = await migration(0, 'list', '--token', TOKEN)
  assert.match(err, /can see a token in the arguments; use --token-file/)
  assert.equal(server.requests[0]!.headers.authorization, `bearer ${TOKEN}`)
})

test('an owner means all repositories of the owner that the user may migrate', async (t) => {
  const permissions = { admin: true, maintain: true, push: true, triage: true, pull: true }
  const server = await fakeServer(t, ({ method, path }, response) => {
    if (path.startsWith('/user/repos'))
      return sendJson(response, 200, [
        { full_name: 'octo/tools', permissions },
        { full_name: 'octo/secret', permissions: { ...permissions, admin: false } },
        { full_name: 'alice/site', permissions },
        { full_name: 'carol/her-own', permissions: { ...permissions, admin: false } },
      ])
    if (method === 'POST') return sendJson(response, 201, { id: 1, state: 'pending' })
    sendJson(response, 404, { message: 'Not Found' })
  })
  const { migration } = await clientCommandLine(t, { url: server.url, token: 'gwt_unlikely' })
  const requested = () => JSON.parse(server.requests.at(-1)!.body).repositories
  const { err } = await migration(0, 'start', 'Octo', 'alice/site', 'octo/tools')
  assert.deepEqual(requested(), ['octo/tools', 'alice/site'])
  assert.match(err, /skipped 1 of 2 repositories of Octo: you do not administer it/)
  await migration(0, 'start', 'site')
  assert.deepEqual(requested(), ['site'])
  const sent = server.requests.length
  assert.match((await migration(1, 'start', 'carol')).err, /no repository of carol can be migrated/)
  assert.ok(!server.requests.slice(sent).some(({ method }) => method === 'POST'))
})

test('a download link that leads nowhere is blamed on the server, not on --url', async (t) => {
  const gone = `http://127.0.0.1:${await freePort()}`
  const server = await fakeServer(t, (_request, response) => {
    response.writeHead(302, { location: `${gone}/secret-path?sig=secret` }).end()
  })
  const { start } = await clientCommandLine(t, { url: server.url, token: 'gwt_unlikely' })
  const download = start(['migration', 'download', '7', '--output', 'x.tar.gz'])
  let said = ''
  download.stderr.on('data', (text: string) => {
    said += text
  })
  await until(
    () => `the download reports its error: ${said}`,
    () => said.includes('\n'),
  )
  download.kill('SIGINT')
  await download.result
  assert.ok(
    said.startsWith(
      `${server.url} sent a download link to ${gone}, which cannot be reached (ECONN`,
    ),
    said,
  )
  assert.match(said, /the server's --base-url or the address of its bucket may be wrong/)
  assert.doesNotMatch(said, /secret|check --url/)
})
