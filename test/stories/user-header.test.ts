import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { before, test } from 'node:test'
import { onEachEngine } from '../support/databases.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { freePort } from '../support/free-port.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import type { SharedService } from '../support/service.ts'
import { skipUnless } from '../support/skip-unless.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const PAGE_HEADER = { 'x-godwit-session': '1' }
const fileCleanup = cleanupAfterFile()
let host: GitHost

before(async () => {
  host = await gitHost()
  fileCleanup.after(host.remove)
  for (const owner of ['alice', 'bob'])
    await host.repository(`${owner}/site`, { files: { a: '1' } })
})

interface Answer {
  status: number
  cookie: string | undefined
  login: string | undefined
  message: string | undefined
}

/** Requests the session. `from` is the address of the sender: only 127.0.0.1 is a trusted proxy. */
async function getSession(
  url: string,
  headers: Record<string, string>,
  from = '127.0.0.1',
): Promise<Answer> {
  const sent = request(`${url}/session`, { headers, localAddress: from, agent: false })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const body = await text(response)
  const isJson = response.headers['content-type']?.startsWith('application/json')
  const { user, message } = isJson ? JSON.parse(body) : { user: null, message: body }
  const cookie = response.headers['set-cookie']?.[0]?.split(';')[0]
  return { status: response.statusCode!, cookie, login: user?.login, message }
}

onEachEngine('the header of a proxy that authenticates', (engine) => {
  const groupCleanup = cleanupAfterFile()
  let service: SharedService

  before(async () => {
    service = await startSharedService(groupCleanup, {
      ...{ repositories: host.root, engine },
      flags: ['--user-header', 'X-Remote-User', '--trusted-proxies', '127.0.0.1'],
    })
  })

  test('signs in on the dashboard, once, and ends the session of anybody before', async () => {
    const first = await getSession(service.url, { ...PAGE_HEADER, 'x-remote-user': 'Alice' })
    assert.deepEqual([first.status, first.login], [200, 'alice'])
    const cookie = first.cookie!
    const again = { ...PAGE_HEADER, 'x-remote-user': 'alice', cookie }
    assert.equal((await getSession(service.url, again)).cookie, undefined)
    const other = await getSession(service.url, { ...again, 'x-remote-user': 'bob' })
    assert.equal(other.login, 'bob')
    const headers = { ...PAGE_HEADER, cookie }
    assert.equal((await fetch(`${service.url}/user`, { headers })).status, 401)
  })

  test('is ignored and logged if anybody else sends it', async () => {
    const headers = { ...PAGE_HEADER, 'x-remote-user': 'alice', 'x-forwarded-for': '127.0.0.1' }
    const { login, cookie } = await getSession(service.url, headers, '127.0.0.2')
    assert.deepEqual([login, cookie], [undefined, undefined])
    await until('it is logged', () =>
      service.log().includes('x-remote-user from an untrusted address was ignored'),
    )
  })

  test('does nothing outside the dashboard: not for the API, and not for other sites', async () => {
    const headers = { 'x-remote-user': 'alice' }
    assert.equal((await fetch(`${service.url}/user`, { headers })).status, 401)
    const api = { ...headers, ...PAGE_HEADER }
    assert.equal((await fetch(`${service.url}/user`, { headers: api })).status, 401)
    assert.equal((await getSession(service.url, headers)).cookie, undefined)
    const foreign = { ...api, 'sec-fetch-site': 'cross-site' }
    assert.equal((await getSession(service.url, foreign)).cookie, undefined)
  })

  test('with an unknown or invalid login is refused with the reason', async () => {
    for (const [login, reason] of [
      ['stranger', 'nobody with this login owns or may read a repository here'],
      ['alice, bob', 'its name has characters other than'],
    ] as const) {
      const answer = await getSession(service.url, { ...PAGE_HEADER, 'x-remote-user': login })
      assert.equal(answer.status, 403)
      assert.ok(answer.message!.includes(reason), answer.message!)
    }
    assert.doesNotMatch(await service.godwit('account', 'list'), /stranger/)
    const audit = await service.godwit('audit', '--action', 'session.open', '--json')
    assert.match(audit, /"refused".*"as":"alice, bob","reason":"no-login"/)
    assert.match(audit, /"refused".*"as":"stranger","reason":"unknown"/)
  })

  test('refuses a site admin at the first time, and says how to bind the account', async () => {
    await service.godwit('account', 'add', 'olga', '--site-admin')
    const headers = { ...PAGE_HEADER, 'x-remote-user': 'olga' }
    const refused = await getSession(service.url, headers)
    assert.equal(refused.status, 403)
    const advice = /run `godwit (account edit olga --no-site-admin)`, sign in, and grant the right/
    const [, command] = advice.exec(refused.message!)!
    await service.godwit(...command!.split(' '))
    assert.equal((await getSession(service.url, headers)).login, 'olga')
    await service.godwit('account', 'edit', 'olga', '--site-admin')
    assert.equal((await getSession(service.url, headers)).login, 'olga')
  })
})

const searchPath = `${process.env.PATH ?? ''}:/usr/sbin:/sbin`
const hasNginx = spawnSync('nginx', ['-v'], { env: { PATH: searchPath } }).status === 0

test(
  'nginx signs people in, removes the header from clients, and doctor sees whether it does',
  skipUnless(hasNginx, 'nginx is not installed'),
  async (t) => {
    const [port, front, careless] = [await freePort(), await freePort(), await freePort()]
    const service = await startSharedService(t, {
      ...{ repositories: host.root, port },
      flags: [
        ...['--user-header', 'X-Remote-User', '--trusted-proxies', '127.0.0.1'],
        ...['--base-url', `http://127.0.0.1:${front}`],
      ],
    })
    const base = temporaryDirectory(t)
    mkdirSync(join(base, 'spool'))
    writeFileSync(join(base, 'people'), 'alice:{PLAIN}secret\n')
    const spools = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
      .map((kind) => `${kind}_temp_path ${base}/spool;`)
      .join(' ')
    const pass = `proxy_pass ${service.url}; proxy_set_header X-Forwarded-For $remote_addr; proxy_buffering off;`
    // Root's workers would be another user, who may not read the directory.
    const user = process.getuid?.() === 0 ? 'user root;' : ''
    const conf = `${user} daemon off; pid ${base}/pid; error_log stderr; events {}
      http { access_log off; ${spools}
        server { listen 127.0.0.1:${front};
          location = /session {
            auth_basic "people"; auth_basic_user_file ${base}/people;
            ${pass} proxy_set_header X-Remote-User $remote_user;
          }
          location / { ${pass} proxy_set_header X-Remote-User ""; } }
        server { listen 127.0.0.1:${careless}; location / { ${pass} } } }`
    writeFileSync(join(base, 'nginx.conf'), conf)
    const nginx = spawn('nginx', ['-p', base, '-c', join(base, 'nginx.conf')], {
      env: { PATH: searchPath },
      stdio: 'ignore',
    })
    t.after(async () => {
      nginx.kill()
      if (nginx.exitCode === null) await once(nginx, 'exit')
    })
    const url = `http://127.0.0.1:${front}`
    await until('nginx responds', () =>
      fetch(`${url}/healthz`).then(
        (response) => response.ok,
        () => false,
      ),
    )

    const authorization = `Basic ${Buffer.from('alice:secret').toString('base64')}`
    const spoofed = { ...PAGE_HEADER, 'x-remote-user': 'bob' }
    const signedIn = await getSession(url, { ...spoofed, authorization })
    assert.equal(signedIn.login, 'alice')
    // Browsers send the credentials for the proxy with every later request.
    const headers = { ...PAGE_HEADER, authorization, cookie: signedIn.cookie! }
    assert.equal((await fetch(`${url}/user`, { headers })).status, 200)
    assert.equal((await getSession(url, spoofed)).status, 401)
    const token = { authorization: `bearer ${await service.token('bob')}` }
    assert.equal((await fetch(`${url}/user`, { headers: token })).status, 200)

    const doctor = async (address: string) => {
      const settings = ['--user-header', 'X-Remote-User', '--trusted-proxies', '127.0.0.1']
      const listen = ['--base-url', address, '--listen', `127.0.0.1:${port}`]
      const run = service.godwit('doctor', ...settings, ...listen)
      return run.catch(({ stdout }: { stdout: string }) => stdout)
    }
    assert.match(await doctor(url), /user-header +the proxy removes x-remote-user/)
    assert.match(await doctor(`http://127.0.0.1:${careless}`), /anybody can sign in as anybody/)
  },
)
