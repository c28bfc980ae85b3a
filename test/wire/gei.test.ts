import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { until } from '../support/wait-until.ts'
import {
  needsOrganization,
  organizationUnderTest,
  ownServer,
  type ServerUnderTest,
  serverWith,
} from './server-under-test.ts'

const run = promisify(execFile)

/**
 * The headers that GitHub Enterprise Importer sends with every request: no preview media type. It does not
 * follow redirects.
 */
const USER_AGENT = 'OctoshiftCLI/1.32.0'

interface Archive {
  address: string
  folder: string
  files: string[]
}

/** Imitates GitHub Enterprise Importer after its source: headers, bodies, order of requests, and parsing of responses. */
function createImporter({ url, token, org }: ServerUnderTest & { org: string }) {
  const api = `${url}/api/v3`

  async function send(path: string, body?: object): Promise<Response> {
    return fetch(path.startsWith('http') ? path : `${api}${path}`, {
      redirect: 'manual',
      headers: {
        accept: 'application/vnd.github.v3+json',
        'graphql-features': 'import_api,mannequin_claiming_emu,org_import_api',
        authorization: `Bearer ${token}`,
        'user-agent': USER_AGENT,
        ...(body && { 'content-type': 'application/json; charset=utf-8' }),
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
  }

  async function start(body: object): Promise<number> {
    const response = await send(`/orgs/${org}/migrations`, body)
    assert.ok(response.ok, `${response.status}: ${await response.clone().text()}`)
    const { id } = (await response.json()) as { id: number }
    assert.ok(Number.isInteger(id) && id < 2 ** 31)
    return id
  }

  return {
    api,
    /** Reads the version of an Enterprise Server; undefined if there is none. */
    async installedVersion(): Promise<string | undefined> {
      const response = await send('/meta')
      assert.equal(response.status, 200)
      return ((await response.json()) as { installed_version?: string }).installed_version
    },
    startGit: (repo: string) => start({ repositories: [repo], exclude_metadata: true }),
    startMetadata: (repo: string, isLocking: boolean) =>
      start({
        repositories: [repo],
        exclude_git_data: true,
        exclude_releases: false,
        lock_repositories: isLocking,
        exclude_owner_projects: true,
      }),
    async state(id: number): Promise<string> {
      const response = await send(`/orgs/${org}/migrations/${id}`)
      assert.equal(response.status, 200)
      return ((await response.json()) as { state: string }).state
    },
    /** The body of exactly this response is the URL. */
    async archiveAddress(id: number): Promise<string> {
      const response = await send(`/orgs/${org}/migrations/${id}/archive`)
      assert.equal(response.status, 302)
      const address = await response.text()
      assert.equal(address, response.headers.get('location'))
      assert.equal(address, address.trim())
      return address
    },
    /** Reads all names page by page; it splits the Link header at commas. */
    async repositories(perPage = 100): Promise<{ name: string; visibility: string }[]> {
      const all: { name: string; visibility: string }[] = []
      for (let next: string | undefined = `/orgs/${org}/repos?per_page=${perPage}`; next; ) {
        const response = await send(next)
        all.push(...((await response.json()) as typeof all))
        next = (response.headers.get('link') ?? '')
          .split(',')
          .map((link) => /<(?<url>.+)>;\s*rel="(?<rel>.+)"/.exec(link)?.groups)
          .find((link) => link?.rel === 'next')?.url
      }
      return all
    },
  }
}

/** Downloads the archive without a token and unpacks it. */
async function downloadArchive(t: TestContext, address: string): Promise<Archive> {
  const response = await fetch(address, {
    redirect: 'error',
    headers: { 'user-agent': USER_AGENT },
  })
  assert.equal(response.status, 200)
  const folder = await mkdtemp(join(tmpdir(), 'godwit-wire-gei-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'archive.tar.gz')
  await writeFile(file, Buffer.from(await response.arrayBuffer()))
  await run('tar', ['-xzf', file, '-C', folder])
  await rm(file)
  const files = (await readdir(folder)).filter((name) => name !== 'godwit-manifest.json').sort()
  return { address, folder, files }
}

const readRecords = async ({ folder }: Archive, name: string) =>
  JSON.parse(await readFile(join(folder, `${name}_000001.json`), 'utf8')) as Record<
    string,
    unknown
  >[]

test(
  'GitHub Enterprise Importer accepts it as an Enterprise Server',
  needsOrganization,
  async (t) => {
    const server = await organizationUnderTest()
    const { org, url } = server
    const gei = createImporter(server)
    assert.equal(await gei.installedVersion(), undefined)
    const listed = await gei.repositories(1)
    assert.deepEqual(
      listed.map(({ name }) => `${org}/${name}`).sort(),
      server.repositories.toSorted(),
    )
    assert.ok(listed.every(({ visibility }) => /^(public|private)$/.test(visibility)))
    const repo = listed[0]!.name

    const gitId = await gei.startGit(repo)
    const metadataId = await gei.startMetadata(repo, true)
    // After an error the importer starts again, up to six times, while its locks are still held.
    const again = [await gei.startGit(repo), await gei.startMetadata(repo, true)]
    for (const id of [metadataId, gitId, ...again])
      await until(`migration ${id} is exported`, async () => {
        const state = await gei.state(id)
        assert.notEqual(state, 'failed')
        return state === 'exported'
      })

    const git = await downloadArchive(t, await gei.archiveAddress(gitId))
    assert.deepEqual(git.files, [
      'organizations_000001.json',
      'repositories',
      'repositories_000001.json',
      'schema.json',
    ])
    assert.deepEqual(await readdir(join(git.folder, 'repositories', org)), [`${repo}.git`])
    const metadata = await downloadArchive(t, await gei.archiveAddress(metadataId))
    assert.deepEqual(metadata.files, [
      'organizations_000001.json',
      'repositories_000001.json',
      'schema.json',
      'users_000001.json',
    ])
    // The source URL that the importer sends to GitHub: the API's URL without its path, then the repository's path.
    const expected = `${gei.api.replace('/api/v3', '')}/${org}/${repo}`
    for (const archive of [git, metadata]) {
      assert.equal((await readRecords(archive, 'repositories'))[0]!.url, expected)
      assert.equal((await readRecords(archive, 'organizations'))[0]!.url, `${url}/${org}`)
    }
    const [{ members }] = (await readRecords(metadata, 'organizations')) as [{ members: object[] }]
    assert.ok(members.some((member) => 'role' in member && member.role === 'admin'))

    const repeated = await fetch(metadata.address, {
      headers: { authorization: 'Bearer nonsense' },
    })
    assert.equal(repeated.status, 200)
    await repeated.body?.cancel()
    // Each migration has its own lock, and octokit.rb sends DELETE with a body.
    for (const id of [metadataId, again[1]])
      for (const status of [204, 404]) {
        const path = `/orgs/${org}/migrations/${id}/repos/${repo}/lock`
        assert.equal((await server.request('DELETE', path, { body: {} })).status, status)
      }
    const read = await server.request('GET', `/orgs/${org}/migrations/${gitId}`, { body: {} })
    assert.equal(read.status, 200)
  },
)

test('links expire as configured, and the version is the configured one', ownServer, async () => {
  const server = await serverWith('unusual')
  const gei = createImporter({ ...server, org: 'octo' })
  assert.equal(await gei.installedVersion(), '3.7.1')
  const id = await gei.startGit('kit')
  await until('the archive is there', async () => (await gei.state(id)) === 'exported')
  const address = new URL(await gei.archiveAddress(id))
  const seconds = Number(address.searchParams.get('expires')) - Date.now() / 1000
  assert.ok(seconds > 3600 && seconds <= 7200, `${seconds} s`)
  assert.ok(address.searchParams.get('sig'))
  address.searchParams.set('expires', String(Math.floor(Date.now() / 1000) - 1))
  assert.equal((await fetch(address)).status, 403)
})
