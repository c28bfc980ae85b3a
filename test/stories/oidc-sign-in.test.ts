import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEachEngine } from '../support/databases.ts'
import { cleanupAfterFile } from '../support/file-cleanup.ts'
import { freePort } from '../support/free-port.ts'
import { type GitHost, gitHost } from '../support/git-host.ts'
import {
  type OpenIdProvider,
  type Person,
  RedirectFollower,
  startOpenIdProvider,
} from '../support/openid-provider.ts'
import type { SharedService } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { until } from '../support/wait-until.ts'

const PAGE_HEADER = { 'x-godwit-session': '1' }
const fileCleanup = cleanupAfterFile()
let host: GitHost

before(async () => {
  host = await gitHost()
  fileCleanup.after(host.remove)
  for (const owner of ['alice', 'bob', 'carol', 'dave'])
    await host.repository(`${owner}/site`, { files: { a: '1' } })
})

onEachEngine('sign-in with an OpenID provider', (engine) => {
  const groupCleanup = cleanupAfterFile()
  let service: SharedService
  let provider: OpenIdProvider

  before(async () => {
    const port = await freePort()
    provider = await startOpenIdProvider(groupCleanup, `http://127.0.0.1:${port}`)
    service = await startSharedService(groupCleanup, {
      ...{ repositories: host.root, engine, port },
      flags: [
        ...provider.flags,
        ...['--oidc-require', 'groups=staff', '--oidc-admin', 'groups=operators'],
      ],
    })
  })

  /** Signs in, and returns the browser and the page at which it ends. */
  async function signIn(person: Person, returnTo = '/') {
    provider.person = { groups: ['staff'], ...person }
    const browser = new RedirectFollower()
    const start = `${service.url}/session/oidc/start?return_to=${encodeURIComponent(returnTo)}`
    const isPage = (url: string) =>
      url.startsWith(service.url) && !new URL(url).pathname.startsWith('/session/')
    return { browser, page: (await browser.follow(start, isPage)).slice(service.url.length) }
  }

  const userOf = async (browser: RedirectFollower) => {
    const response = await browser.send(`${service.url}/session`, { headers: PAGE_HEADER })
    return ((await response.json()) as { user: { login: string; site_admin: boolean } | null }).user
  }

  const doctor = (...more: string[]) =>
    service
      .godwit('doctor', ...provider.flags, ...more)
      .catch(({ stdout }: { stdout: string }) => stdout)

  const problemOf = (page: string) => new URL(page, service.url).searchParams.get('sign-in-problem')

  test('opens a session of the account with that login, and returns to the page', async () => {
    const { browser, page } = await signIn(
      { sub: 'a', preferred_username: 'Alice' },
      '/#/schedules/3',
    )
    assert.equal(page, '/#/schedules/3')
    assert.equal((await userOf(browser))?.login, 'alice')
    const started = await browser.send(`${service.url}/user`, { headers: PAGE_HEADER })
    assert.equal(started.status, 200)
    await until('both are in the log', () =>
      ['identity.bind', 'session.open'].every((what) =>
        service.log().includes(`"audit":"${what}"`),
      ),
    )
    const [secret] = [...browser.cookiesOf(service.url).values()]
    assert.ok(!service.log().includes(secret!), 'the cookie was logged')
    assert.match(await service.godwit('token', 'list'), /^(?!.*alice)/s, 'a session is no token')
  })

  test('binds the identity: another subject is refused, and another login changes nothing', async () => {
    await signIn({ sub: 'b1', preferred_username: 'bob' })
    const other = await signIn({ sub: 'b2', preferred_username: 'bob' })
    assert.equal(problemOf(other.page), 'taken')
    assert.equal(await userOf(other.browser), null)
    const renamed = await signIn({ sub: 'b1', preferred_username: 'carol' })
    assert.equal((await userOf(renamed.browser))?.login, 'bob')
    await service.godwit('account', 'edit', 'bob', '--unbind')
    assert.equal(await userOf(renamed.browser), null)
    const second = await signIn({ sub: 'b2', preferred_username: 'bob' })
    assert.equal((await userOf(second.browser))?.login, 'bob')
  })

  test('refuses people without a repository, without a required group, or without a valid login', async () => {
    const refused: [Person, string][] = [
      [{ sub: 'x1', preferred_username: 'stranger' }, 'unknown'],
      [{ sub: 'x2', preferred_username: 'carol', groups: ['guests'] }, 'not-allowed'],
      [{ sub: 'x3', preferred_username: 'not/a name' }, 'no-login'],
    ]
    for (const [person, problem] of refused) {
      const { browser, page } = await signIn(person)
      assert.equal(problemOf(page), problem)
      assert.equal(await userOf(browser), null)
    }
    assert.doesNotMatch(await service.godwit('account', 'list'), /stranger/)
    const entries = (await service.godwit('audit', '--action', 'session.open', '--json'))
      .split('\n')
      .filter((line) => line.includes('"refused"'))
      .map((line) => JSON.parse(line).details)
      .map(({ issuer, identity, reason }) => [issuer, identity, reason])
    assert.deepEqual(
      entries.slice(0, refused.length).reverse(),
      refused.map(([{ sub }, problem]) => [provider.issuer, sub, problem]),
    )
  })

  test('makes site admins by a claim, and takes the right away without it', async () => {
    const person = { sub: 'd', preferred_username: 'dave' }
    const first = await signIn({ ...person, groups: ['staff', 'operators'] })
    assert.equal((await userOf(first.browser))?.site_admin, true)
    const second = await signIn(person)
    assert.equal((await userOf(second.browser))?.site_admin, false)
  })

  test('does not give the account of a site admin to whoever has the login', async () => {
    await service.godwit('account', 'edit', 'carol', '--site-admin')
    const { page } = await signIn({ sub: 'c', preferred_username: 'carol' })
    assert.equal(problemOf(page), 'site-admin')
  })

  test('goes on for those who are signed in while the provider is away', async () => {
    const { browser } = await signIn({ sub: 'a', preferred_username: 'alice' })
    await provider.stop()
    await service.stop()
    await service.restart()
    try {
      assert.equal((await userOf(browser))?.login, 'alice')
      const start = await browser.send(`${service.url}/session/oidc/start?return_to=/%23/a`)
      assert.equal(start.headers.get('location'), `${service.url}/?sign-in-problem=unavailable#/a`)
      assert.equal((await service.call(await service.token('bob'), '/user')).status, 200)
      assert.match(await doctor(), /✗ oidc .*ECONNREFUSED/)
    } finally {
      await provider.start()
    }
  })

  test('is checked by doctor', async () => {
    assert.match(await doctor(), /✓ oidc +http:.* responds/)
    const wrong = ['--oidc-issuer', `${provider.issuer}/realm`]
    assert.match(await doctor(...wrong), /✗ oidc .*failed: .*\n.*set --oidc-issuer/)
  })

  test('ends in all browsers at once, and then at the provider', async () => {
    const person = { sub: 'a', preferred_username: 'alice' }
    const [first, second] = [await signIn(person), await signIn(person)]
    const all = { method: 'DELETE', headers: PAGE_HEADER }
    await first.browser.send(`${service.url}/session?all=true`, all)
    assert.equal(await userOf(second.browser), null)
    const end = await first.browser.send(`${service.url}/session/oidc/end`)
    const url = new URL(end.headers.get('location')!)
    assert.equal(url.origin, provider.issuer)
    assert.equal(url.searchParams.get('post_logout_redirect_uri'), `${service.url}/`)
  })

  test('never leaves this server for another page', async () => {
    for (const path of [
      '//evil.example',
      '/\\evil.example',
      '/.//evil.example',
      'https://evil.example',
      '/\t/evil.example',
    ]) {
      const { page } = await signIn({ sub: 'a', preferred_username: 'alice' }, path)
      assert.equal(page, '/', path)
    }
  })
})
