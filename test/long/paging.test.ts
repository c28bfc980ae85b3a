import assert from 'node:assert/strict'
import { cp } from 'node:fs/promises'
import { test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import type { SharedService } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

type Named = { full_name: string }

test('the pages of a migration of 250 repositories contain each once, in order', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  const names = Array.from({ length: 250 }, (_, n) => `alice/r${String(n).padStart(3, '0')}`)
  const first = await host.repository(names[0]!, { files: { a: '1' } })
  await Promise.all(names.slice(1).map((name) => cp(first, host.path(name), { recursive: true })))
  const service = await startSharedService(t, { repositories: host.root })
  const token = await service.token('alice')
  const body = JSON.stringify({ repositories: names, exclude_git_data: true })
  const started = await service.call(token, '/user/migrations', { method: 'POST', body })
  assert.equal(started.status, 201)

  for (const [query, pages] of [
    ['', 9],
    ['per_page=30', 9],
    ['per_page=100', 3],
    ['per_page=1000', 3],
    ['per_page=1', 250],
    ['per_page=0', 9],
  ] as const) {
    const result = await readAllPages(service, token, `/user/migrations/1/repositories?${query}`)
    assert.deepEqual(result.names, names, query)
    assert.equal(result.pages, pages, query)
  }

  const single = await service.call(token, '/user/migrations/1/repositories?page=2&per_page=250')
  assert.equal(((await single.json()) as Named[]).length, 100)
  const beyond = await service.call(token, '/user/migrations/1/repositories?page=10')
  assert.deepEqual(await beyond.json(), [])
  const here = `${service.url}/user/migrations/1/repositories`
  assert.equal(
    beyond.headers.get('link'),
    `<${here}?page=9>; rel="prev", <${here}?page=9>; rel="last", <${here}?page=1>; rel="first"`,
  )
})

test('migrations are listed newest first, page by page', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('alice/site', { files: { a: '1' } })
  const service = await startSharedService(t, {
    repositories: host.root,
    flags: ['--max-unfinished-migrations', '100'],
  })
  const token = await service.token('alice')
  const body = JSON.stringify({ repositories: ['site'] })
  for (let n = 0; n < 5; n++)
    await service.call(token, '/user/migrations', { method: 'POST', body })

  const pages: number[][] = []
  let next: string | undefined = '/user/migrations?per_page=2'
  while (next) {
    const response = await service.call(token, next)
    pages.push(((await response.json()) as { id: number }[]).map(({ id }) => id))
    next = linkTo('next', response)
  }
  assert.deepEqual(pages, [[5, 4], [3, 2], [1]])
})

/** Follows `next` to the end and `first` back to the start. */
async function readAllPages(service: SharedService, token: string, path: string) {
  const names: string[] = []
  let pages = 0
  let response = await service.call(token, path)
  const firstBody = await response.clone().text()
  for (;;) {
    pages++
    const page = (await response.json()) as Named[]
    names.push(...page.map(({ full_name }) => full_name))
    const next = linkTo('next', response)
    if (!next) break
    response = await service.call(token, next)
  }
  const first = await service.call(token, linkTo('first', response)!)
  assert.equal(await first.text(), firstBody)
  return { names, pages }
}

function linkTo(rel: string, response: Response): string | undefined {
  return new RegExp(`<([^<>]+)>;\\s*rel="${rel}"`).exec(response.headers.get('link') ?? '')?.[1]
}
