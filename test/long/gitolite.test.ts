import assert from 'node:assert/strict'
import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createGit } from '../../packages/git/src/git.ts'
import { gitDirectory } from '../../packages/hosts/src/directory/git-directory.ts'
import type { ListedEntry } from '../../packages/hosts/src/source.ts'
import { ensureAccount } from '../../packages/server/src/accounts/account-store.ts'
import { connect } from '../../packages/server/src/db/connect.ts'
import { commandLine } from '../support/command-line.ts'
import { type GitoliteHost, gitoliteHost, needsGitolite } from '../support/gitolite-host.ts'
import { type SharedService, untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

const CONF = `
@staff  = alice bob
@others = @staff carol
@web    = shop site

repo gitolite-admin
    RW+ = operator
repo testing
    RW+ = @all
repo tools
    RW+ = alice
    RW  = bob
    R   = carol daemon
repo group/deep/thing
    RW+ = @staff
    R   = eve
repo @web
    RW  = @others
    RW+ = bob
repo guarded
    -   = bob
    RW+ = @staff
    option deny-rules = 1
repo protected
    - master = bob
    RW+      = @staff
repo own
    RW+ personal/USER/ = @others
    R                  = @all
repo people/CREATOR/[a-z]+
    C   = @staff
    RW+ = CREATOR
    RW  = WRITERS
    R   = READERS @web-readers
@web-readers = eve
repo dave/notes
    RW+ = alice
repo alice/notes
    RW+ = alice
    R   = dave
repo nobody
    R = daemon
repo part.*
    R = carol
repo partial
    RW = bob
`
const USERS = ['operator', 'alice', 'bob', 'carol', 'dave', 'eve']
const SETTINGS = ['--layout', 'any-depth', '--owner', 'git']

describe('gitolite', needsGitolite, () => {
  let host: GitoliteHost

  const cleanups: (() => unknown)[] = []
  after(() => cleanups.forEach((cleanup) => void cleanup()))

  before(() => {
    host = gitoliteHost({ after: (cleanup) => void cleanups.push(cleanup as () => unknown) })
    for (const user of USERS.slice(1)) host.addKey(user)
    host.configure(CONF)
    for (const repository of ['alice/x', 'bob/y']) {
      const [creator = ''] = repository.split('/')
      host.ssh(creator, `git-upload-pack 'people/${repository}'`, '0000')
    }
    host.ssh('alice', 'perms people/alice/x + READERS carol')
    host.ssh('alice', 'perms people/alice/x + WRITERS @staff')
    for (const repository of ['tools', 'group/deep/thing', 'people/alice/x'])
      host.commit(repository)
  })

  const source = () => {
    const home = join(host.home, 'godwit-home')
    const git = createGit({ program: 'git', searchPath: process.env.PATH ?? '', home })
    const layout = { kind: 'any-depth', owner: 'git' } as const
    return gitDirectory({ root: host.root, git, layout })
  }

  test('everyone has the access that gitolite itself reports, in every repository', async () => {
    const here = source()
    const found = (await Array.fromAsync(here.list())).flatMap((row) =>
      'found' in row ? row.found : [],
    )
    const ours: Record<string, string[]> = {}
    const gitolites: Record<string, string[]> = {}
    const pathOf = async (each: (typeof found)[number]) =>
      (await here.directoryOf(each)).slice(host.root.length + 1, -'.git'.length)
    const paths = await Promise.all(found.map(pathOf))
    const pairs = paths.flatMap((path) => USERS.map((user) => `${path} ${user}`))
    const [readers, writers, rewinders] = (['R', 'W', '+'] as const).map(
      (permission) => new Set(host.allowed(pairs, permission)),
    )
    for (const [n, each] of found.entries()) {
      const path = paths[n]!
      const { collaborators, ownerIsOrganization } = await here.metadata(each)
      ours[path] = collaborators.map(({ login, permission }) => `${login} ${permission}`).sort()
      gitolites[path] = USERS.flatMap((user) => {
        const pair = `${path} ${user}`
        if (!readers!.has(pair)) return []
        // A user who may rewind only their own branches does not administer the repository.
        const isAdmin = rewinders!.has(pair) && path !== 'own'
        return `${user} ${isAdmin ? 'admin' : writers!.has(pair) ? 'write' : 'read'}`
      }).sort()
      assert.equal(ownerIsOrganization, each.owner === 'alice' ? undefined : true)
    }
    assert.deepEqual(ours, gitolites)
    assert.deepEqual(ours.tools, ['alice admin', 'bob write', 'carol read'])
    assert.deepEqual(ours['people/alice/x'], ['alice admin', 'bob write', 'carol read', 'eve read'])
    assert.deepEqual(ours.guarded, ['alice admin'])
    assert.deepEqual(
      ours.own,
      ['alice', 'bob', 'carol']
        .map((user) => `${user} write`)
        .concat(['dave', 'eve', 'operator'].map((user) => `${user} read`)),
    )
  })

  test('a directory belongs to its user only where gitolite gives RW+', async () => {
    const rows = await Array.fromAsync(source().list())
    assert.deepEqual(
      rows.flatMap((row: ListedEntry) =>
        'refused' in row ? `${row.refused.path}: ${row.refused.reason}` : [],
      ),
      ['dave/notes.git: dave would own it here, but gitolite does not give dave RW+'],
    )
    assert.equal(await source().find('dave', 'notes'), undefined)
    assert.equal((await source().find('alice', 'notes'))?.owner, 'alice')
  })

  test('a change of the configuration is seen at the next sync, without a change of the repository', async () => {
    const here = source()
    const before = await here.find('git', 'partial')
    const permissions = async () =>
      (await here.metadata((await here.find('git', 'partial'))!)).collaborators
    assert.deepEqual(await permissions(), [
      { login: 'bob', permission: 'write' },
      { login: 'carol', permission: 'read' },
    ])
    host.configure(CONF.replace('repo partial\n    RW = bob', 'repo partial\n    RW+ = dave'))
    assert.notEqual((await here.find('git', 'partial'))?.changeToken, before?.changeToken)
    assert.deepEqual(await permissions(), [
      { login: 'carol', permission: 'read' },
      { login: 'dave', permission: 'admin' },
    ])
    host.configure(CONF)
  })

  test('unreadable permissions give access to nobody', async () => {
    const conf = join(host.root, 'tools.git/gl-conf')
    renameSync(conf, `${conf}-away`)
    try {
      const rows = await Array.fromAsync(source().list())
      const refused = rows.flatMap((row) => ('refused' in row ? [row.refused] : []))
      const tools = refused.find(({ path }) => path === 'tools.git')
      assert.match(tools?.reason ?? '', /gitolite's permissions cannot be read/)
      assert.equal(tools?.isWithdrawn, true)
    } finally {
      renameSync(`${conf}-away`, conf)
    }
    assert.equal((await source().find('git', 'tools'))?.name, 'tools')
  })

  test('godwit sync prints how many were skipped, and export finds a repository by its path', async (t) => {
    const { godwit, folder } = await commandLine(t)
    const settings = ['--repositories', host.root, ...SETTINGS]
    const synced = await godwit(['sync', '--data', join(folder, 'data'), ...settings])
    assert.equal(synced.code, 0, synced.output)
    assert.match(synced.stdout.toString(), /^skipped: dave\/notes\.git: /m)
    assert.equal(synced.stderr, 'warning: 1 entry was skipped\n')
    const archive = join(folder, 'thing.tar.gz')
    const exported = await godwit(['export', 'group/deep-thing', ...settings, '--output', archive])
    assert.equal(exported.code, 0, exported.output)
    const verified = await godwit(['verify', archive])
    assert.equal(verified.code, 0, verified.output)
  })

  test('users of the service see and export their own repositories', async (t) => {
    const service = await startSharedService(t, { repositories: host.root, flags: SETTINGS })
    const token = async (login: string) => {
      const { db, close } = await connect({ dataDirectory: service.data, databaseUrl: undefined })
      await ensureAccount(db, login, Date.now())
      await close()
      return service.token(login)
    }
    const [alice, bob, carol] = [await token('alice'), await token('bob'), await token('carol')]
    assert.deepEqual(await administered(service, carol), ['git/testing'])
    assert.deepEqual(await administered(service, bob), [
      ...['git/protected', 'git/shop', 'git/site', 'git/testing', 'group/deep-thing'],
      'people/bob-y',
    ])
    const body = JSON.stringify({ repositories: ['git/tools', 'people/alice-x'] })
    const refused = await service.call(bob, '/user/migrations', { method: 'POST', body })
    assert.equal(refused.status, 422)
    const started = await service.call(alice, '/user/migrations', { method: 'POST', body })
    assert.equal(started.status, 201)
    const { id } = (await started.json()) as { id: number }
    assert.equal((await untilEnded(service, alice, id)).state, 'exported')
  })
})

async function administered(service: SharedService, token: string): Promise<string[]> {
  const response = await service.call(token, '/user/repos?per_page=100')
  const rows = (await response.json()) as { full_name: string }[]
  return rows.map(({ full_name }) => full_name).sort()
}
