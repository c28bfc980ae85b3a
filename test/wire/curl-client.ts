import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { PREVIEW } from '../support/service.ts'
import type { Client } from './migration-lifecycle.ts'
import { needs } from './needs.ts'
import type { ServerUnderTest } from './server-under-test.ts'

const run = promisify(execFile)

export const needsCurl = () => needs('curl', spawnSync('curl', ['--version']).status === 0)

interface CurlResult {
  body: string
  /** From `--write-out`: the status, the next page, and the redirect. */
  next: string | undefined
  redirect: string
}

/** Runs curl once. */
export async function curl(...args: string[]): Promise<CurlResult> {
  const format = '\n%header{link}\n%{redirect_url}\n%{http_code}'
  const { stdout } = await run('curl', ['--silent', '--show-error', '-w', format, ...args])
  const lines = stdout.split('\n')
  const [link = '', redirect = '', status] = lines.splice(-3)
  const body = lines.join('\n')
  if (Number(status) >= 400) throw Object.assign(new Error(body), { status: Number(status) })
  return { body, next: /<([^>]+)>; rel="next"/.exec(link)?.[1], redirect }
}

export function curlClient({
  url,
  token,
  org,
}: Pick<ServerUnderTest, 'url' | 'token'> & { org?: string }): Client {
  const migrations = org === undefined ? `${url}/user/migrations` : `${url}/orgs/${org}/migrations`
  const preview = org === undefined ? ['-H', `Accept: ${PREVIEW}`] : []
  const defaults = [...preview, '-H', `Authorization: token ${token}`]
  const call = (...args: string[]) => curl(...defaults, ...args)
  const migration = (id: number) => `${migrations}/${id}`

  async function* pages<T>(address: string, pick: (item: never) => T): AsyncIterable<T[]> {
    for (let next: string | undefined = address; next !== undefined; ) {
      const page = await call(next)
      yield (JSON.parse(page.body) as never[]).map(pick)
      next = page.next
    }
  }

  return {
    async start(repositories, { lock }) {
      const body = JSON.stringify({ repositories, lock_repositories: lock })
      return JSON.parse((await call('-d', body, migrations)).body)
    },
    list: (perPage) => pages(`${migrations}?per_page=${perPage}`, ({ id }: { id: number }) => id),
    status: async (id) => JSON.parse((await call(migration(id))).body),
    repositories: (id, perPage) =>
      pages(
        `${migration(id)}/repositories?per_page=${perPage}`,
        ({ full_name }: { full_name: string }) => full_name,
      ),
    async download(id, file) {
      await call('--location', '--output', file, `${migration(id)}/archive`)
    },
    async unlock(id, name) {
      await call('-X', 'DELETE', `${migration(id)}/repos/${name}/lock`)
    },
    async deleteArchive(id) {
      await call('-X', 'DELETE', `${migration(id)}/archive`)
    },
  }
}
