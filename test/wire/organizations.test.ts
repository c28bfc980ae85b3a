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
    const { org, url, ask, repositories } = await organizationUnderTest()
    const names = repositories.map((fullName) => fullName.split('/')[1])
    const started = await ask('POST', `/orgs/${org.toUpperCase()}/migrations`, {
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
    const { body } = await ask('GET', `/api/v3/orgs/${org}/migrations/${record.id}`, { headers })
    assert.equal(JSON.parse(body).url, `${url}/api/v3/orgs/${org}/migrations/${record.id}`)
  })

  test('name the scopes that they need, and leave fields out on request', async () => {
    const server = await organizationUnderTest()
    const { org, ask, repositories } = server
    const path = `/orgs/${org}/migrations`
    const id = await exportMigration(server, {}, path)
    for (const below of ['', `/${id}`, `/${id}/repositories`, `/${id}/archive`]) {
      const { status, headers: received } = await ask('GET', `${path}${below}`, { headers })
      assert.ok(status === 200 || status === 302, `${below}: ${status}`)
      assert.equal(received['x-accepted-oauth-scopes'], 'admin:org, repo')
      assert.equal(received['x-github-media-type'], 'github.v3; format=json')
    }
    type Record = { id: number; archive_url?: string; repositories: unknown[] }
    const read = async (query: string) =>
      [JSON.parse((await ask('GET', `${path}${query}`, { headers })).body)].flat() as Record[]
    const mine = (all: Record[]) => all.find((each) => each.id === id)!
    for (const at of ['', `/${id}`]) {
      assert.equal(mine(await read(at)).repositories.length, repositories.length)
      assert.deepEqual(mine(await read(`${at}?exclude=repositories`)).repositories, [])
      assert.match(mine(await read(at)).archive_url!, new RegExp(`${path}/${id}/archive$`))
    }
    const brief = await ask('GET', `${path}?exclude=repositories`, { headers })
    const whole = await ask('GET', path, { headers })
    assert.notEqual(brief.headers.etag, whole.headers.etag)
  })

  test('reject repositories of other owners like missing ones', async () => {
    const { org, ask, repositories } = await organizationUnderTest()
    const refused = async (name: string) => {
      const body = { repositories: [repositories[0], name] }
      const answer = await ask('POST', `/orgs/${org}/migrations`, { headers, body })
      return { status: answer.status, errors: JSON.parse(answer.body).errors }
    }
    const { body } = await ask('GET', '/user/repos?affiliation=owner')
    const [own] = JSON.parse(body) as { full_name: string }[]
    const errors = [{ resource: 'Migration', field: 'repositories', code: 'missing', index: 1 }]
    for (const name of [own!.full_name, 'nobody/nothing', 'nothing'])
      assert.deepEqual(await refused(name), { status: 422, errors }, name)
  })
})
