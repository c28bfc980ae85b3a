import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { exportMigration } from './export-migration.ts'
import { needsOctokit, octokitWalk } from './octokit-client.ts'
import { needsDescription, readDescription } from './openapi-description.ts'
import { needsPyGithub, pyGithubClient } from './pygithub-client.ts'
import {
  needsOrganization,
  organizationUnderTest,
  ownServer,
  type ServerUnderTest,
  serverUnderTest,
} from './server-under-test.ts'
import type { WalkedRepository } from './walked-repository.ts'

type Json = Record<string, unknown>

/** Returns the names in a row of the table of URLs. */
async function namesInTable(row: string): Promise<string[]> {
  const text = await readFile(new URL('../../docs/COMPATIBILITY.md', import.meta.url), 'utf8')
  const line = text.split('\n').find((each) => each.startsWith(`| ${row} |`))
  assert.ok(line, `there is a row: ${row}`)
  return [...line.slice(row.length + 4).matchAll(/`([\w.]+)`/g)].map(([, name]) => name!)
}

/** Returns every URL of a record by its name, including those of owner and licence. */
function addressesIn(record: Json, prefix = ''): Map<string, string> {
  const found = new Map<string, string>()
  for (const [name, value] of Object.entries(record)) {
    const isAddress = /^(url|\w+_url)$/.test(name) && typeof value === 'string'
    if (isAddress) found.set(`${prefix}${name}`, value)
    if (name !== 'owner' && name !== 'license') continue
    for (const each of addressesIn((value ?? {}) as Json, `${name}.`)) found.set(...each)
  }
  return found
}

/** Leaves out optional parts of a URL template, and fills in a value that does not exist for the others. */
const expandTemplate = (template: string) =>
  template.replaceAll(/\{[/?][^}]*\}/g, '').replaceAll(/\{[^}]*\}/g, 'none')

describe('the URLs in a repository record', () => {
  test('respond exactly where the table says so', ownServer, async () => {
    const server = await serverUnderTest()
    const { body } = await server.request(
      'GET',
      `/user/migrations/${await exportMigration(server)}`,
    )
    const records = JSON.parse(body).repositories as Json[]
    const record = records.find(({ license }) => license !== null)!
    const addresses = addressesIn(record)
    const [responding, pages, gitAddresses, elsewhere, unknown] = await Promise.all(
      ['answers', 'answers browsers', 'answers git', 'leads elsewhere', 'does not answer'].map(
        namesInTable,
      ),
    )
    const all = [responding, pages, gitAddresses, elsewhere, unknown].flatMap((names) => names!)
    assert.deepEqual([...addresses.keys()].sort(), all.toSorted())
    const status = async (name: string, accept = 'application/json') =>
      (await server.request('GET', expandTemplate(addresses.get(name)!), { headers: { accept } }))
        .status
    for (const name of responding!) assert.equal(await status(name), 200, name)
    for (const name of pages!) assert.equal(await status(name, 'text/html'), 302, name)
    for (const name of unknown!) assert.equal(await status(name), 404, name)
  })

  test('respond as GitHub’s description says', needsDescription(), async () => {
    const server = await serverUnderTest()
    for (const fullName of server.repositories) await compareAll(server, fullName)
  })

  test('respond as GitHub’s description says, for an organization', {
    skip: needsDescription().skip || needsOrganization.skip,
  }, async () => {
    const server = await organizationUnderTest()
    for (const fullName of server.repositories) await compareAll(server, fullName)
  })

  test('work with PyGithub', needsPyGithub(), async () => {
    const server = await serverUnderTest()
    for (const prefix of ['', '/api/v3']) {
      const client = pyGithubClient({ ...server, url: `${server.url}${prefix}` })
      const { id } = await client.start(server.repositories, { lock: false })
      const walked = await client.walk(id)
      assertComplete(walked, server)
      assert.ok((await client.licenses()).includes('mit'))
    }
  })

  test('work with Octokit, with the same results', needsOctokit(22), async () => {
    const server = await serverUnderTest()
    const walked = await octokitWalk(server, await exportMigration(server))
    assertComplete(walked, server)
    if (needsPyGithub().skip) return
    const client = pyGithubClient(server)
    const { id } = await client.start(server.repositories, { lock: false })
    assert.deepEqual(await client.walk(id), walked)
  })
})

const STATUSES: Record<string, number[]> = {
  '': [200],
  '/branches': [200],
  '/tags': [200],
  '/topics': [200],
  '/languages': [200],
  '/collaborators': [200],
  // A repository may have no licence.
  '/license': [200, 404],
}

/** Compares all resources below one repository, its owner and licences, including errors. */
async function compareAll({ request }: ServerUnderTest, fullName: string): Promise<void> {
  const { validationError } = await readDescription()
  async function compare(path: string, at: string, statuses: number[], headers = {}) {
    const response = await request('GET', at, { headers })
    assert.ok(statuses.includes(response.status), `${at}: ${response.status} ${response.body}`)
    assert.equal(validationError('GET', path, response), undefined, at)
    return response
  }
  const below = '/repos/{owner}/{repo}'
  for (const [path, statuses] of Object.entries(STATUSES)) {
    const described = `${below}${path}`
    const { headers, status } = await compare(described, `/repos/${fullName}${path}`, statuses)
    await compare(described, `/repos/${fullName}${path}?per_page=1&page=2`, statuses)
    const known = { 'if-none-match': headers.etag }
    if (status === 200) await compare(described, `/repos/${fullName}${path}`, [304], known)
    await compare(described, `/repos/${fullName}${path}`, [401], {
      authorization: 'bearer nonsense',
    })
    await compare(described, `/repos/${fullName}${path}`, [403], { 'user-agent': undefined })
    await compare(described, `/repos/${fullName}${path}`, [415], { accept: 'application/xml' })
    await compare(described, `/repos/${fullName}-is-not-there${path}`, [404])
  }
  await compare('/users/{username}', `/users/${fullName.split('/')[0]}`, [200])
  await compare('/users/{username}', '/users/no-such-person', [404])
  const { body } = await compare('/licenses', '/licenses', [200])
  for (const { key } of JSON.parse(body))
    await compare('/licenses/{license}', `/licenses/${key}`, [200])
  await compare('/licenses/{license}', '/licenses/none', [404])
  await compare('/licenses', '/licenses', [200], { authorization: undefined })
  await compare('/versions', '/versions', [200], { authorization: undefined })
  await compare('/meta', '/meta', [200], { authorization: undefined })
}

/** Asserts that every requested repository was found. */
function assertComplete(walked: WalkedRepository[], { repositories }: ServerUnderTest): void {
  assert.deepEqual(walked.map(({ full_name }) => full_name).sort(), repositories.toSorted())
  for (const { full_name, owner, branches, tags, license, collaborators } of walked) {
    assert.deepEqual(owner, { login: full_name.split('/')[0], has_age: true })
    for (const [name, sha] of [...branches, ...tags]) assert.match(sha, /^[0-9a-f]{40,64}$/, name)
    assert.ok(branches.length > 0)
    if (license !== null) assert.ok(license.length > 100, full_name)
    assert.ok(collaborators.some(([login, isAdmin]) => login === owner.login && isAdmin))
  }
}
