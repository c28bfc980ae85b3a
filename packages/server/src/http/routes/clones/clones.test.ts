import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cloneScene } from '../../../../../../test/support/clone-scene.ts'
import { onSqlite } from '../../../../../../test/support/databases.ts'
import type { GitHost } from '../../../../../../test/support/git-host.ts'
import { ensureAccount, ensureOrganization } from '../../../accounts/account-store.ts'
import { putMembership } from '../../../accounts/membership-store.ts'
import { revokeToken } from '../../../accounts/token-store.ts'

async function fill(host: GitHost): Promise<void> {
  await host.repository('alice/site', { files: { a: '1' }, wiki: { 'Home.md': 'Hello' } })
  await host.repository('alice/open', { files: { a: '1' }, public: true })
}

onSqlite('a clone', (engine) => {
  test('is allowed to accounts that may read, with any form of credentials', async (t) => {
    const { git, cloneUrl, token } = await cloneScene(t, fill, { engine })
    const alice = await token('alice')
    const forms: [name: string, args: string[], address: string][] = [
      ['password', [], cloneUrl('alice/site.git', alice)],
      ['any-name', [], cloneUrl('alice/site.git', alice, 'any-user')],
      ['name', [], cloneUrl('alice/site.git', 'x-oauth-basic', alice)],
      ['no-password', [], cloneUrl('alice/site.git', '', alice)],
      [
        'bearer',
        ['-c', `http.extraHeader=Authorization: Bearer ${alice}`],
        cloneUrl('alice/site.git'),
      ],
      ['without-suffix', [], cloneUrl('alice/site', alice)],
      ['any-case', [], cloneUrl('ALICE/Site.git', alice)],
      ['wiki', [], cloneUrl('alice/site.wiki.git', alice)],
      ['public', [], cloneUrl('alice/open.git')],
      ['public-with-token', [], cloneUrl('alice/open.git', await token('bob'))],
    ]
    for (const [name, args, address] of forms) {
      const { code, output } = await git(...args, 'clone', '--quiet', address, name)
      assert.equal(code, 0, `${name}: ${output}`)
    }
  })

  test('does not reveal whether a repository exists', async (t) => {
    const { git, cloneUrl, token, url } = await cloneScene(t, fill, { engine })
    const bob = await token('bob')
    for (const path of ['alice/site', 'alice/none', 'nobody/none', 'alice/site.wiki']) {
      const { code, output } = await git('ls-remote', cloneUrl(path, bob))
      assert.equal(code, 128)
      assert.match(output, /^remote: Repository not found\.\nfatal: repository '.*' not found/)
      const none = await fetch(`${url}/${path}/info/refs?service=git-upload-pack`)
      assert.equal(none.status, 401)
      assert.match(none.headers.get('www-authenticate') ?? '', /^Basic realm=/)
      assert.equal(await none.text(), 'Requires authentication\n')
      const wrong = await git('ls-remote', cloneUrl(path, 'gwt_wrong'))
      assert.match(wrong.output, /Authentication failed/)
    }
  })

  test('is refused after the permission or the token ends', async (t) => {
    const { db, git, cloneUrl, token, host, sync } = await cloneScene(t, fill, { engine })
    const bob = await token('bob')
    const code = async () => (await git('ls-remote', cloneUrl('alice/site', bob))).code
    const config = (...change: string[]) =>
      host.git(['config', ...change], { dir: host.path('alice/site') }).then(sync)
    assert.equal(await code(), 128)
    await config('godwit.collaborator', 'bob:read')
    assert.equal(await code(), 0)
    await config('--unset', 'godwit.collaborator')
    assert.equal(await code(), 128)
    await config('godwit.collaborator', 'bob:read')
    const { id } = await db.selectFrom('tokens').select('id').executeTakeFirstOrThrow()
    await revokeToken(db, id, Date.now())
    assert.equal(await code(), 128)
  })

  test('of a repository of an organization is allowed to its owners', async (t) => {
    const { db, git, cloneUrl, token } = await cloneScene(
      t,
      (host) => host.repository('octo/tools', { files: { a: '1' } }),
      { engine },
    )
    const [alice, bob] = [await token('alice'), await token('bob')]
    const octo = await db.transaction().execute((tx) => ensureOrganization(tx, 'octo', 0))
    const role = { alice: 'owner', bob: 'member' } as const
    for (const login of ['alice', 'bob'] as const) {
      const { id: accountId } = await ensureAccount(db, login, 0)
      await putMembership(db, octo!, { accountId, role: role[login] }, 'manual')
    }
    assert.equal((await git('ls-remote', cloneUrl('octo/tools', alice))).code, 0)
    assert.equal((await git('ls-remote', cloneUrl('octo/tools', bob))).code, 128)
  })
})

test('a clone is logged and counted like any request, without the credential', async (t) => {
  const { git, cloneUrl, token, log, url } = await cloneScene(t, fill, {
    rateLimit: { perHour: 4, pool: undefined },
  })
  const alice = await token('alice')
  assert.equal((await git('ls-remote', cloneUrl('alice/site', alice))).code, 0)
  const line = log()
    .split('\n')
    .find((each) => each.includes('git-upload-pack') && each.includes('"status":200'))
  assert.match(
    line ?? '',
    /"method":"POST","path":"\/alice\/site\/git-upload-pack".*"login":"alice"/,
  )
  assert.ok(!log().includes(alice.slice(4)))
  const metrics = await (await fetch(`${url}/metrics`)).text()
  assert.match(
    metrics,
    /godwit_http_requests_total\{method="POST",route="\/:owner\/:name\/git-upload-pack",status="200"\} 1/,
  )
  assert.match(metrics, /godwit_clone_requests_total\{outcome="complete"\} 2/)
  assert.match(metrics, /godwit_clone_requests\{state="running"\} 0/)
  assert.equal((await git('ls-remote', cloneUrl('alice/site', alice))).code, 0)
  const over = await git('ls-remote', cloneUrl('alice/site', alice))
  assert.match(over.output, /remote: API rate limit exceeded for user ID \d+\./)
  for (let times = 0; times < 2; times++)
    assert.equal((await git('ls-remote', cloneUrl('alice/open'))).code, 0)
  assert.match(
    (await git('ls-remote', cloneUrl('alice/open'))).output,
    /remote: Rate limit exceeded for 127/,
  )
})

test('without access to the repositories, clones are 404 and the log says why', async (t) => {
  for (const without of [{ source: undefined }, { cloneSlots: { max: 0, waitMs: 0 } }]) {
    const { git, cloneUrl, token, log } = await cloneScene(t, fill, without)
    const { output } = await git('ls-remote', cloneUrl('alice/site', await token('alice')))
    assert.match(output, /remote: Repository not found\./)
    assert.match(log(), /"repository":"alice\/site","msg":"cannot serve a clone: this process has/)
  }
})
