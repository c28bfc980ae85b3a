import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { needsOctokit, octokitRepositories } from './octokit-client.ts'
import { needsDescription, readDescription } from './openapi-description.ts'
import { needsPyGithub, pyGithubClient } from './pygithub-client.ts'
import { type ServerUnderTest, serverUnderTest } from './server-under-test.ts'

type Named = { full_name: string }

const LIST = '/user/repos'

describe('the list of repositories', () => {
  test('works with Octokit’s pagination', needsOctokit(22), async () => {
    const server = await serverUnderTest()
    const pages = await octokitRepositories(22, server, 1)
    assert.ok(pages.every((names) => names.length === 1))
    assertIncludes(pages.flat(), server)
  })

  test('works with PyGithub, sorted as requested', needsPyGithub(), async () => {
    const server = await serverUnderTest()
    const client = pyGithubClient(server)
    assertIncludes(await client.userRepositories({}), server)
    const backwards = await client.userRepositories({ sort: 'full_name', direction: 'desc' })
    assert.deepEqual(backwards, (await client.userRepositories({})).toReversed())
    const own = await client.userRepositories({ type: 'owner' })
    assertIncludes(own, server)
    assert.deepEqual(await client.userRepositories({ affiliation: 'owner' }), own)
  })

  test('has records and errors as GitHub describes them', needsDescription(), async () => {
    const { validationError } = await readDescription()
    const server = await serverUnderTest()
    const { headers } = await server.request('GET', LIST)
    const accept = 'application/vnd.github+json'
    for (const [query, status, more] of [
      ['', 200, {}],
      ['', 200, { accept }],
      ['?per_page=1&page=2&sort=pushed&visibility=all&affiliation=owner', 200, {}],
      ['', 304, { 'if-none-match': headers.etag }],
      ['', 401, { authorization: 'bearer nonsense' }],
      ['', 403, { 'user-agent': undefined }],
      ['?sort=stars&direction=up&visibility=some&affiliation=x&since=then&before=now', 422, {}],
      ['?type=all&visibility=all', 422, {}],
    ] as const) {
      const response = await server.request('GET', `${LIST}${query}`, { headers: more })
      assert.equal(response.status, status, `${query}: ${response.body.slice(0, 200)}`)
      assert.equal(validationError('GET', LIST, response), undefined, query)
    }
    const both = await server.request('GET', `${LIST}?type=all&affiliation=owner`)
    const { message } = JSON.parse(both.body)
    assert.equal(message, 'If you specify visibility or affiliation, you cannot specify type.')
  })

  test('can be searched by part of a name, and counted', async () => {
    const server = await serverUnderTest()
    const wanted = server.repositories[0]!
    const found = await server.request(
      'GET',
      `${LIST}?q=${encodeURIComponent(wanted.toUpperCase())}`,
    )
    assert.deepEqual(namesOf(found.body), [wanted])
    assert.equal(found.headers['x-total-count'], '1')
    const page = await server.request('GET', `${LIST}?per_page=1&q=${wanted.split('/')[0]}`)
    assert.ok(Number(page.headers['x-total-count']) >= server.repositories.length)
    assert.match(String(page.headers.link), /user\/repos\?per_page=1&q=[^&]+&page=2>; rel="next"/)
    const none = await server.request('GET', `${LIST}?q=no-such-name`)
    assert.deepEqual([none.body, none.headers['x-total-count']], ['[]', '0'])
  })
})

const namesOf = (body: string) => (JSON.parse(body) as Named[]).map(({ full_name }) => full_name)

function assertIncludes(listed: string[], { repositories }: ServerUnderTest): void {
  assert.equal(new Set(listed).size, listed.length)
  for (const name of repositories) assert.ok(listed.includes(name), name)
}
