import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import {
  DEFAULT_MEDIA_TYPE,
  descriptionServer,
} from '../../../../test/support/description-server.ts'
import { exportScene } from '../../../../test/support/export-scene.ts'
import { cleanupAfterFile } from '../../../../test/support/file-cleanup.ts'
import { startForge } from '../../../../test/support/forge/fake-forge.ts'
import { ForgeSeeder, type Target } from '../../../../test/support/forge/forge-seeder.ts'
import { FORGEJO_15, GITEA_1_27 } from '../../../../test/support/forge/render.ts'
import { connectForge } from '../../../hosts/src/forge/connect-forge.ts'
import { createAuthenticator } from '../accounts/authenticator.ts'
import { addressesFrom } from '../repositories/addresses.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { openForgeSignIn, openPermissions, withForge } from './open-configured-forge.ts'

interface PermissionsTarget {
  start(): Promise<Target & { stop(): Promise<void> }>
  skip?: string | false
}

const RECOMMENDED = ['read:user', 'read:repository', 'read:issue', 'read:organization']

/** Kinds of tokens, and whether they are accepted: null if that depends on what is private. */
const TOKENS: readonly [string[], boolean | null][] = [
  [RECOMMENDED, true],
  [['all'], true],
  ...RECOMMENDED.map((one): [string[], false] => [
    RECOMMENDED.filter((each) => each !== one),
    false,
  ]),
  [['read:user', 'read:repository'], false],
  [['public-only', 'read:user', 'read:repository'], false],
  [['public-only', ...RECOMMENDED], null],
]

const PEOPLE = ['owner', 'member', 'outsider', 'limited', 'hidden'] as const
type Person = (typeof PEOPLE)[number]

/**
 * Creates a private organization with three teams and the private repository tools: `owner` owns it, `member` is in the team with
 * the repository, and `outsider` administers the repository as a collaborator. Everyone else has a public and a private repository;
 * the accounts of `limited` and `hidden` are not public.
 */
async function seed(seeder: ForgeSeeder) {
  const logins = {} as Record<Person, string>
  const visibility: Partial<Record<Person, string>> = { limited: 'limited', hidden: 'private' }
  for (const each of PEOPLE)
    logins[each] = await seeder.addUser(each, { visibility: visibility[each] ?? 'public' })
  const organization = `${seeder.prefix}-org`
  const as = logins.owner
  await seeder.call('POST', `/admin/users/${as}/orgs`, {
    body: { username: organization, visibility: 'private' },
  })
  const tools = { name: 'tools', private: true }
  await seeder.call('POST', `/orgs/${organization}/repos`, { as, body: tools })
  for (const [name, member] of [
    ['crew', logins.member],
    ['others', logins.limited],
  ] as const) {
    const body = { name, permission: 'admin', units: ['repo.code', 'repo.issues'] }
    const team = await seeder.call('POST', `/orgs/${organization}/teams`, { as, body })
    await seeder.call('PUT', `/teams/${team.id}/members/${member}`, { as })
    if (name !== 'crew') continue
    await seeder.call('PUT', `/teams/${team.id}/repos/${organization}/tools`, { as })
  }
  const collaborator = `/repos/${organization}/tools/collaborators/${logins.outsider}`
  await seeder.call('PUT', collaborator, { as, body: { permission: 'admin' } })
  const repositories = [`${organization}/tools`]
  for (const each of ['owner', 'limited', 'hidden'] as const)
    for (const name of ['open', 'secret']) {
      const body = { name, private: name === 'secret' }
      await seeder.call('POST', `/admin/users/${logins[each]}/repos`, { body })
      repositories.push(`${logins[each]}/${name}`)
    }
  const remove = async () => {
    for (const each of repositories) await seeder.call('DELETE', `/repos/${each}`)
    await seeder.call('DELETE', `/orgs/${organization}`)
    for (const each of PEOPLE) await seeder.call('DELETE', `/admin/users/${logins[each]}`)
  }
  return { logins, organization, repositories, remove }
}

/** Starts Godwit with a forge. Its repositories have no content. */
async function openGodwit(t: Pick<TestContext, 'after'>, target: Target, names: readonly string[]) {
  const contents = Object.fromEntries(names.map((name) => [name, 'git']))
  const exporting = await exportScene(t as TestContext, contents)
  const { db, queue } = exporting
  const now = Date.now
  const log = { info() {}, warn() {} }
  const forge = connectForge({ ...target, now, pauseMs: 1 })
  const source = withForge(exporting.dependencies.source, forge, { db, now, log })
  const permissionsRefresher = openPermissions({ db, now, log, source, forge })
  await syncAllRepositories({ db, source, now })
  const signIn = openForgeSignIn({ db, now, log, permissionsRefresher, forge })
  const authenticator = createAuthenticator({ db, now, forge: signIn })
  const starting = { maxUnfinished: 99, lockTtlMs: 60_000, isIndexRead: () => true }
  const app = descriptionServer(t, DEFAULT_MEDIA_TYPE, {
    ...{ db, queue, now, source, permissionsRefresher, authenticator, ...starting },
  })
  const baseUrl = 'http://localhost'
  const webUrl = `${target.url}/{owner}/{name}`
  const addresses = addressesFrom({ baseUrl, webUrl, cloneUrl: baseUrl, sshUrl: '' })
  return {
    async ask(token: string, url: string) {
      const headers = { 'user-agent': 'test', authorization: `token ${token}` }
      const response = await app.inject({ url, headers })
      return { status: response.statusCode, body: response.json() }
    },
    /** Exports a repository for a person. Returns the archive's teams and organizations. */
    async exportAs(login: string, name: string) {
      const id = await exporting.start([name], {}, login)
      await exporting.work({ source, forge, addresses })
      const { files } = await exporting.archive(id)
      const records = (kind: string) =>
        [...files].flatMap(([path, text]) =>
          new RegExp(`^${kind}_\\d+\\.json$`).test(path) ? JSON.parse(text) : [],
        )
      return { teams: records('teams'), organizations: records('organizations') }
    },
  }
}

const lastPart = (address: string) => address.split('/').at(-1)!

/** Asks a forge and Godwit the same questions, with every kind of token and person. */
function permissionsContract(name: string, { start, skip = false }: PermissionsTarget): void {
  describe(`permissions of a forge: ${name}`, { skip }, () => {
    const cleanup = cleanupAfterFile()
    let target: Awaited<ReturnType<PermissionsTarget['start']>>
    let seeder: ForgeSeeder
    let scene: Awaited<ReturnType<typeof seed>>
    let godwit: Awaited<ReturnType<typeof openGodwit>>
    before(async () => {
      target = await start()
      seeder = new ForgeSeeder(target)
      scene = await seed(seeder)
      godwit = await openGodwit(cleanup, target, scene.repositories)
    })
    after(async () => {
      await scene?.remove()
      await target?.stop()
    })

    async function askForge(token: string, path: string) {
      const headers = { authorization: `token ${token}` }
      const response = await fetch(`${target.url}/api/v1${path}`, { headers })
      // biome-ignore lint/suspicious/noExplicitAny: each caller knows what it asked for.
      const body: any = response.ok ? await response.json() : []
      return { status: response.status, body }
    }

    /** Returns which repositories and organizations each of the two opens to a token. */
    async function compare(token: string) {
      const there: string[] = []
      const here: string[] = []
      for (const each of scene.repositories) {
        const path = `/repos/${each}`
        const asked = [await askForge(token, path), await askForge(token, `${path}/labels`)]
        if (asked.every(({ status }) => status === 200)) there.push(each)
        if ((await godwit.ask(token, path)).status === 200) here.push(each)
      }
      for (const { username, name } of (await askForge(token, '/user/orgs')).body)
        there.push(username ?? name)
      const { status, body } = await godwit.ask(token, '/user/orgs')
      if (status === 200) for (const { login } of body) here.push(login)
      return { there, here }
    }

    for (const [scopes, isAccepted] of TOKENS)
      it(`a token with ${scopes.join(', ')} opens nothing more here than there`, async () => {
        for (const person of PEOPLE) {
          const token = await seeder.createToken(scene.logins[person], scopes)
          const { there, here } = await compare(token)
          assert.deepEqual(
            here.filter((each) => !there.includes(each)),
            [],
            person,
          )
          const { status, body } = await godwit.ask(token, '/user')
          if (isAccepted !== null) assert.equal(status, isAccepted ? 200 : 403, person)
          if (status !== 200) {
            assert.match(body.message, /Create one with read:user, read:repository, /)
            continue
          }
          const listed = (await askForge(token, '/user/repos')).body
          const administered = listed.flatMap((each: { permissions: { admin: boolean } }) =>
            each.permissions.admin ? (each as unknown as { full_name: string }).full_name : [],
          )
          const own = (await godwit.ask(token, '/user/repos')).body
          const names = own.map((each: { full_name: string }) => each.full_name)
          assert.deepEqual(names.sort(), administered.sort(), person)
        }
      })

    for (const person of ['owner', 'member', 'outsider'] as const)
      it(`an archive for the ${person} has the teams and members that the forge shows`, async () => {
        const { organization, logins } = scene
        const token = await seeder.createToken(logins[person], RECOMMENDED)
        const shown = new Map<string, string[]>()
        const shownTeams = [
          ...(await askForge(token, `/orgs/${organization}/teams`)).body,
          ...(await askForge(token, `/repos/${organization}/tools/teams`)).body,
        ]
        for (const team of shownTeams) {
          const { body } = await askForge(token, `/teams/${team.id}/members`)
          shown.set(team.name, body.map(({ login }: { login: string }) => login).sort())
        }
        const { teams, organizations } = await godwit.exportAs(
          logins[person],
          `${organization}/tools`,
        )
        const archived = teams.map((team: { name: string; members: { user: string }[] }) => [
          team.name,
          team.members.map(({ user }) => lastPart(user)).sort(),
        ])
        assert.deepEqual(Object.fromEntries(archived), Object.fromEntries(shown))
        const members = (await askForge(token, `/orgs/${organization}/members`)).body
        const known = new Set([
          ...members.map(({ login }: { login: string }) => login),
          ...[...shown.values()].flat(),
        ])
        const named = organizations[0].members.map(({ user }: { user: string }) => lastPart(user))
        assert.deepEqual(named.sort(), [...known].sort())
      })
  })
}

for (const dialect of [GITEA_1_27, FORGEJO_15])
  permissionsContract(`fake forge ${dialect.version}`, {
    start: async () => {
      const { url, stop } = await startForge({ dialect })
      return { url, token: 'admin-token', stop }
    },
  })

const { GODWIT_TEST_FORGE_URL: url, GODWIT_TEST_FORGE_TOKEN: token } = process.env

permissionsContract('a real forge', {
  skip: !(url && token) && 'GODWIT_TEST_FORGE_URL and GODWIT_TEST_FORGE_TOKEN are not set',
  start: async () => ({ url: String(url), token: String(token), stop: async () => {} }),
})
