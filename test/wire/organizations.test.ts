import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exportMigration } from './export-migration.ts'
import { needsOrganization, organizationUnderTest } from './server-under-test.ts'

/** Current clients do not send the preview media type. */
const headers = { accept: 'application/vnd.github.v3+json' }
const FLAGS = {
  lock_repositories: false,
  exclude_metadata: true,
  exclude_git_data: false,
  exclude_attachments: true,
  exclude_releases: true,
  exclude_owner_projects: true,
  org_metadata_only: false,
}

describe('migrations of an organization', needsOrganization, () => {
  test('have the recorded shape, in any letter case of its name', async () => {
    const { org, url, request, repositories } = await organizationUnderTest()
    const names = repositories.map((fullName) => fullName.split('/')[1])
    const started = await request('POST', `/orgs/${org.toUpperCase()}/migrations`, {
      headers,
      body: { repositories: names, ...FLAGS, exclude: ['repositories'] },
    })
    assert.equal(started.status, 201, started.body)
    const record = JSON.parse(started.body)
    assert.equal(record.url, `${url}/orgs/${org}/migrations/${record.id}`)
    assert.equal(started.headers.location, record.url)
    assert.deepEqual(
      [record.owner.login, record.owner.type, record.owner.url],
      [org, 'Organization', `${url}/users/${org}`],
    )
    assert.deepEqual({ ...record, ...FLAGS }, record)
    assert.deepEqual(record.repositories, [])
    assert.ok(!('archive_url' in record))
    const { body } = await request('GET', `/api/v3/orgs/${org}/migrations/${record.id}`, {
      headers,
    })
    assert.equal(JSON.parse(body).url, `${url}/api/v3/orgs/${org}/migrations/${record.id}`)
  })

  test('name the scopes that they need, and leave fields out on request', async () => {
    const server = await organizationUnderTest()
    const { org, request, repositories } = server
    const path = `/orgs/${org}/migrations`
    const id = await exportMigration(server, {}, path)
    for (const below of ['', `/${id}`, `/${id}/repositories`, `/${id}/archive`]) {
      const { status, headers: received } = await request('GET', `${path}${below}`, { headers })
      assert.ok(status === 200 || status === 302, `${below}: ${status}`)
      assert.equal(received['x-accepted-oauth-scopes'], 'admin:org, repo')
      assert.equal(received['x-github-media-type'], 'github.v3; format=json')
    }
    type Record = { id: number; archive_url?: string; repositories: unknown[] }
    const read = async (query: string) =>
      [JSON.parse((await request('GET', `${path}${query}`, { headers })).body)].flat() as Record[]
    const ownIn = (all: Record[]) => all.find((each) => each.id === id)!
    for (const at of ['', `/${id}`]) {
      assert.equal(ownIn(await read(at)).repositories.length, repositories.length)
      assert.deepEqual(ownIn(await read(`${at}?exclude=repositories`)).repositories, [])
      assert.match(ownIn(await read(at)).archive_url!, new RegExp(`${path}/${id}/archive$`))
    }
    const withoutRepositories = await request('GET', `${path}?exclude=repositories`, { headers })
    const full = await request('GET', path, { headers })
    assert.notEqual(withoutRepositories.headers.etag, full.headers.etag)
  })

  test('reject repositories of other owners like missing ones', async () => {
    const { org, request, repositories } = await organizationUnderTest()
    const errorFor = async (name: string) => {
      const body = { repositories: [repositories[0], name] }
      const response = await request('POST', `/orgs/${org}/migrations`, { headers, body })
      return { status: response.status, errors: JSON.parse(response.body).errors }
    }
    const { body } = await request('GET', '/user/repos?affiliation=owner')
    const [own] = JSON.parse(body) as { full_name: string }[]
    const errors = [{ resource: 'Migration', field: 'repositories', code: 'missing', index: 1 }]
    for (const name of [own!.full_name, 'nobody/nothing', 'nothing'])
      assert.deepEqual(await errorFor(name), { status: 422, errors }, name)
  })
})
