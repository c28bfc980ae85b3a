import { until } from '../support/wait-until.ts'
import type { ServerUnderTest } from './server-under-test.ts'

/** Starts a migration of all repositories, waits until it is exported, and returns its id. */
export async function exportMigration(
  { request, repositories }: ServerUnderTest,
  more: { lock_repositories?: boolean } = {},
  path = '/user/migrations',
): Promise<number> {
  const started = await request('POST', path, { body: { repositories, ...more } })
  const { id } = JSON.parse(started.body) as { id: number }
  await until(`migration ${id} is exported`, async () => {
    const { body } = await request('GET', `${path}/${id}?exclude=repositories`)
    const { state } = JSON.parse(body) as { state: string }
    if (state === 'failed') throw new Error(`migration ${id} failed`)
    return state === 'exported'
  })
  return id
}
