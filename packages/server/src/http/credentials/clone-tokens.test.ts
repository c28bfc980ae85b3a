import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cloneScene } from '../../../../../test/support/clone-scene.ts'
import { onEachEngine, onSqlite, openDatabase } from '../../../../../test/support/databases.ts'
import type { GitHost } from '../../../../../test/support/git-host.ts'
import { alice } from '../../../../../test/support/repository-metadata.ts'
import { revokeToken } from '../../accounts/token-store.ts'
import { replaceKey, signingKey } from '../../db/secret-store.ts'
import { cloneTokens } from './clone-tokens.ts'

const MINUTE = 60_000

describe('clone tokens', () => {
  const clock = { at: Date.UTC(2026, 0, 1, 12, 0, 59) }
  const key = { bytes: Buffer.alloc(32, 1) }
  const dependencies = { key: () => key.bytes, now: () => clock.at, isServed: true }
  const tokens = cloneTokens(dependencies)
  const viewer = { account: alice, tokenId: 5 }
  const issue = () => String(tokens.for(viewer)!(7))

  test('a token names its repository and expires after an hour', () => {
    const token = issue()
    assert.match(token, /^gwc_[\w-]+$/)
    assert.deepEqual(tokens.read(token), { tokenId: 5, repositoryId: 7 })
    const issuedAt = clock.at
    clock.at = issuedAt + 58 * MINUTE
    assert.ok(tokens.read(token))
    clock.at = issuedAt + 60 * MINUTE
    assert.equal(tokens.read(token), undefined)
    clock.at = issuedAt
  })

  test('a token stays the same for a minute and differs by repository and caller', () => {
    const token = issue()
    assert.equal(issue(), token)
    clock.at += MINUTE
    assert.notEqual(issue(), token)
    assert.notEqual(String(tokens.for(viewer)!(8)), issue())
    assert.notEqual(String(tokens.for({ ...viewer, tokenId: 6 })!(7)), issue())
    const large = String(tokens.for({ ...viewer, tokenId: 2 ** 40 })!(2 ** 41))
    assert.deepEqual(tokens.read(large), { tokenId: 2 ** 40, repositoryId: 2 ** 41 })
  })

  test('a changed token is invalid, and so is one signed with another key', () => {
    const token = issue()
    for (let at = 0; at < token.length; at++) {
      const changed = `${token.slice(0, at)}${token[at] === 'x' ? 'y' : 'x'}${token.slice(at + 1)}`
      assert.equal(tokens.read(changed), undefined, changed)
    }
    for (const other of ['', 'gwc_', `${token}x`, ` ${token}`, token.toUpperCase()])
      assert.equal(tokens.read(other), undefined, other)
    key.bytes = Buffer.alloc(32, 2)
    assert.equal(tokens.read(token), undefined)
    assert.ok(tokens.read(issue()))
  })

  test('no tokens are issued if clones are not served', () => {
    assert.equal(cloneTokens({ ...dependencies, isServed: false }).for(viewer), undefined)
  })
})

onEachEngine('the signing key', (engine) => {
  test('is created once by concurrent processes and can be replaced', async (t) => {
    const { db } = await openDatabase(t, engine)
    const keys = await Promise.all([1, 2, 3].map(() => signingKey(db, 'clone-key')))
    assert.equal(new Set(keys.map(String)).size, 1)
    assert.equal(keys[0]!.length, 32)
    await replaceKey(db, 'clone-key')
    const replaced = await signingKey(db, 'clone-key')
    assert.ok(!replaced.equals(keys[0]!))
    assert.ok(!replaced.equals(await signingKey(db, 'link-key')))
  })
})

async function fill(host: GitHost): Promise<void> {
  await host.repository('alice/base', { files: { a: '1' }, config: { 'godwit.template': 'true' } })
  const config = { 'godwit.templateRepository': 'alice/base' }
  await host.repository('alice/site', { files: { a: '1' }, config })
  await host.repository('alice/open', { files: { a: '1' }, public: true })
  await host.repository('alice/other', { files: { a: '1' } })
}

interface RepositoryJson {
  name: string
  temp_clone_token?: string
  template_repository: RepositoryJson | null
}

const ofMigration = (body: unknown, at?: number): RepositoryJson[] =>
  ((at === undefined ? body : (body as unknown[])[at]) as { repositories: RepositoryJson[] })
    .repositories

onSqlite('temp_clone_token', (engine) => {
  test('is sent for private repositories and clones only its own repository', async (t) => {
    const scene = await cloneScene(t, fill, { engine })
    const { call, git, cloneUrl, clock, log } = scene
    const token = await scene.token('alice')
    const body = JSON.stringify({ repositories: ['site', 'open', 'other'] })
    const started = await call(token, '/user/migrations', { method: 'POST', body })
    assert.equal(started.status, 201)
    const first = (await started.json()) as { id: number; repositories: RepositoryJson[] }
    const listed = async (path: string) => {
      const response = await call(token, path)
      return { etag: response.headers.get('etag'), body: await response.json() }
    }
    const path = `/user/migrations/${first.id}`
    const status = await listed(path)
    const all: RepositoryJson[][] = [
      first.repositories,
      ofMigration(status.body),
      ofMigration((await listed('/user/migrations')).body, 0),
      (await listed('/user/repos')).body as RepositoryJson[],
      ofMigration((await listed(`/api/v3${path}`)).body),
    ]
    const alone = (await listed('/repos/alice/site')).body as RepositoryJson
    assert.match(alone.temp_clone_token!, /^gwc_/)
    assert.match(alone.template_repository!.temp_clone_token!, /^gwc_/)
    const tokens = new Set<string>()
    for (const repositories of all) {
      const named = (name: string) => repositories.find((each) => each.name === name)!
      assert.equal(named('open').temp_clone_token, '')
      const site = named('site')
      for (const each of [site, named('other'), site.template_repository!]) {
        assert.match(each.temp_clone_token!, /^gwc_/)
        tokens.add(`${each.name} ${each.temp_clone_token}`)
      }
    }
    const plain = (await listed(`${path}/repositories`)).body as RepositoryJson[]
    for (const each of plain) {
      assert.ok(!('temp_clone_token' in each))
      const template = each.template_repository?.temp_clone_token
      assert.match(template ?? '', each.name === 'site' ? /^gwc_/ : /^$/)
    }

    const own = all[1]!.find(({ name }) => name === 'site')!.temp_clone_token!
    const listRefs = async (name: string, password: string) =>
      (await git('ls-remote', cloneUrl(`alice/${name}.git`, password))).output
    assert.match(await listRefs('site', own), /refs\/heads\/main/)
    for (const name of ['other', 'none'])
      assert.match(await listRefs(name, own), /Authentication failed/)
    const info = '/info/refs?service=git-upload-pack'
    assert.equal((await call(own, `/alice/open${info}`)).status, 401)
    assert.equal((await call(own, '/user')).status, 401)
    clock.ahead = 55 * MINUTE
    assert.match(await listRefs('site', own), /refs\/heads\/main/)
    // Only the clone tokens differ, and the ETag does not cover them.
    const again = await listed(path)
    assert.equal(again.etag, status.etag)
    assert.notDeepEqual(again.body, status.body)
    const known = { headers: { 'if-none-match': String(status.etag) } }
    assert.equal((await call(token, path, known)).status, 304)
    clock.ahead = 60 * MINUTE + 1000
    assert.match(await listRefs('site', own), /Authentication failed/)
    for (const each of tokens) assert.ok(!log().includes(each.split(' ')[1]!.slice(-32)), 'logged')
    assert.ok(!log().includes('gwc_'))
  })

  test('becomes invalid without permission to read, with the access token, and with the signing key', async (t) => {
    const scene = await cloneScene(t, fill, { engine })
    const { db, call, git, cloneUrl, host, key, sync } = scene
    await host.git(['config', 'godwit.collaborator', 'bob:admin'], { dir: host.path('alice/site') })
    await sync()
    const bob = await scene.token('bob')
    const issuedToken = async () => {
      const repositories = (await (await call(bob, '/user/repos')).json()) as RepositoryJson[]
      return repositories.find(({ name }) => name === 'site')?.temp_clone_token
    }
    const code = async (password: string) =>
      (await git('ls-remote', cloneUrl('alice/site', password))).code
    const old = (await issuedToken())!
    assert.equal(await code(old), 0)
    key.bytes = Buffer.alloc(32, 9)
    assert.equal(await code(old), 128)
    const now = (await issuedToken())!
    assert.equal(await code(now), 0)
    await host.git(['config', '--unset', 'godwit.collaborator'], { dir: host.path('alice/site') })
    await sync()
    assert.equal(await code(now), 128)
    await host.git(['config', 'godwit.collaborator', 'bob:read'], { dir: host.path('alice/site') })
    await sync()
    assert.equal(await code(now), 0)
    const { id } = await db.selectFrom('tokens').select('id').executeTakeFirstOrThrow()
    await revokeToken(db, id, Date.now())
    assert.equal(await code(now), 128)
  })
})
