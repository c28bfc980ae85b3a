import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import {
  anyRecord,
  forecastShape,
  listOf,
  migrationShape,
  repositoryShape,
  type Shape,
  statusShape,
} from './check-shape.ts'
import { explained, type Request } from './explain-refusal.ts'
import { requestSender } from './send-request.ts'
import type { Manners, Server } from './server.ts'
import { notThisApi, ServerFailed, ServerRefused } from './troubles.ts'
import type { ForecastJson, MigrationJson, RepositoryJson, StartJson } from './wire.ts'

const MOST_PER_PAGE = 100
const TEXT = 'text/plain'
type Sent = Record<string, unknown>

/** The operations of a server of this API. Those that only Godwit has answer 404 elsewhere. */
export type MigrationsApi = ReturnType<typeof migrationsApi>

export function migrationsApi(server: Server, manners: Manners) {
  const { url, vendor } = server
  const send = requestSender(server, manners)
  const octokit = connect(server, send)
  type Explaining = Omit<Request, 'url'>

  async function attempt<T>(explaining: Explaining, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      throw explained(error, { url, ...explaining })
    }
  }

  function call<T>(
    route: string,
    parameters: Sent,
    explaining: Explaining,
    shape: Shape<T>,
  ): Promise<T> {
    return attempt(explaining, async () => {
      const { data } = await octokit.request(route, parameters)
      return asShape(data, shape)
    })
  }

  function all<T>(
    route: string,
    parameters: Sent,
    explaining: Explaining,
    shape: Shape<T>,
  ): Promise<T[]> {
    return attempt(explaining, async () => {
      const pages = octokit.paginate.iterator(route, { per_page: MOST_PER_PAGE, ...parameters })
      const found: T[] = []
      try {
        for await (const { data } of pages) found.push(...asShape(data, listOf(shape)))
      } catch (error) {
        // Octokit looks into an answer before we can.
        throw error instanceof TypeError && !error.cause ? notThisApi(url) : error
      }
      return found
    })
  }

  function asShape<T>(data: unknown, shape: Shape<T>): T {
    if (shape(data)) return data
    throw notThisApi(url)
  }

  const ofMigration = (id: number): Explaining => ({
    missing: `${url} has no migration ${id} for this token's account: \`godwit migration list\` shows those it has`,
  })
  const ofApi: Explaining = {
    missing: `${url} has no migrations API: is --url right? (GitHub Enterprise Server has it at https://HOST/api/v3)`,
  }
  const ofGodwit = (what: string, id: number): Explaining => ({
    missing: `${url} has no migration ${id} for this token's account, or no ${what}: those are Godwit's own`,
  })
  const one = (id: number) => ({ migration_id: id })

  return {
    server,
    send,

    start: (body: StartJson) =>
      call<MigrationJson>(
        'POST /user/migrations',
        { ...body },
        { ...ofApi, repositories: body.repositories },
        statusShape,
      ),
    /** Godwit's own. */
    preflight: (body: StartJson) =>
      call<ForecastJson>(
        'POST /user/migrations/preflight',
        { ...body },
        {
          missing: `${url} has no preflight: that is Godwit's own`,
          repositories: body.repositories,
        },
        forecastShape,
      ),
    list: () => all<MigrationJson>('GET /user/migrations', {}, ofApi, migrationShape),
    show: (id: number) =>
      call<MigrationJson>(
        'GET /user/migrations/{migration_id}',
        one(id),
        ofMigration(id),
        migrationShape,
      ),
    repositories: (id: number) =>
      all<RepositoryJson>(
        'GET /user/migrations/{migration_id}/repositories',
        one(id),
        ofMigration(id),
        repositoryShape,
      ),
    /** The caller's own, where the server lists them. */
    ownRepositories: () =>
      all<RepositoryJson>(
        'GET /user/repos',
        {},
        { missing: `${url} does not list your repositories: name them instead of --all` },
        repositoryShape,
      ),

    /** The state alone, or undefined where nothing has changed since. */
    status: (id: number, etag?: string) =>
      attempt(ofMigration(id), async () => {
        const headers = etag === undefined ? {} : { 'if-none-match': etag }
        const route = 'GET /user/migrations/{migration_id}'
        const answer = await octokit
          .request(route, { ...one(id), exclude: ['repositories'], headers })
          .catch((error: { status?: number }) => {
            if (error.status !== 304) throw error
          })
        if (!answer) return undefined
        return { migration: asShape(answer.data, statusShape), etag: answer.headers.etag }
      }),

    deleteArchive: (id: number) =>
      attempt(archiveOf(url, id), () =>
        octokit.request('DELETE /user/migrations/{migration_id}/archive', one(id)),
      ),
    unlock: (id: number, name: string) =>
      attempt({ missing: `${name} is not locked by migration ${id}` }, () =>
        octokit.request('DELETE /user/migrations/{migration_id}/repos/{repo_name}/lock', {
          ...one(id),
          repo_name: name,
        }),
      ),
    /** Where the archive is to be fetched from: a credential, for a few minutes. */
    archiveLink: (id: number) =>
      attempt(archiveOf(url, id), async () => {
        const route = 'GET /user/migrations/{migration_id}/archive'
        const request = { redirect: 'manual' as const, parseSuccessResponseBody: false }
        const { headers, status, data } = await octokit.request(route, { ...one(id), request })
        await (data as unknown as ReadableStream | null)?.cancel()
        if (headers.location === undefined || status < 300)
          throw new ServerRefused(status, `${url} names no place to download the archive from`)
        const place = URL.parse(headers.location, url)
        if (!place) throw notThisApi(url)
        return place
      }),

    /** Godwit's own, as are those that follow. */
    cancel: (id: number) =>
      call<MigrationJson>(
        'POST /user/migrations/{migration_id}/cancel',
        one(id),
        ofGodwit('cancelling', id),
        statusShape,
      ),
    retry: (id: number) =>
      call<MigrationJson>(
        'POST /user/migrations/{migration_id}/retry',
        one(id),
        ofGodwit('retries', id),
        statusShape,
      ),
    report: (id: number) =>
      call<Record<string, unknown>>(
        'GET /user/migrations/{migration_id}/report',
        one(id),
        ofGodwit('reports', id),
        anyRecord,
      ),
    /** The same for people. */
    reportText: (id: number) =>
      attempt(ofGodwit('reports', id), async () => {
        const route = 'GET /user/migrations/{migration_id}/report'
        const { data } = await octokit.request(route, { ...one(id), headers: { accept: TEXT } })
        return String(data)
      }),
    /** An open stream of events, or undefined where the server has none. */
    async events(id: number, after: string, signal: AbortSignal): Promise<Response | undefined> {
      const headers = { accept: 'text/event-stream', 'user-agent': server.userAgent }
      const answer = await send(`${url}/user/migrations/${id}/progress`, {
        headers: { ...headers, ...(after && { 'last-event-id': after }) },
        signal,
      })
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
      if (answer.ok && isStream && answer.body) return answer
      await answer.body?.cancel()
      // A proxy before a server that starts again: no word on whether it has events.
      if ([502, 503, 504].includes(answer.status))
        throw new ServerFailed(`${url} answers ${answer.status}`)
      return undefined
    },
  }

  function connect({ userAgent }: Server, fetch: typeof send) {
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const api = new (Octokit.plugin(paginateRest))({
      baseUrl: url,
      userAgent,
      log,
      request: { fetch },
    })
    api.hook.before('request', ({ headers }) => {
      if (headers.accept !== TEXT)
        headers.accept = `application/vnd.${vendor}.wyandotte-preview+json`
    })
    return api
  }
}

const archiveOf = (url: string, id: number) => ({
  missing: `migration ${id} has no archive at ${url}: it is not exported yet, its archive was deleted or has expired, or there is no such migration; \`godwit migration show ${id}\` tells`,
})
