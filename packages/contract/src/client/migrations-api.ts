import { archiveName } from '../schemas/archive-name.ts'
import { arrayOf } from '../schemas/schema.ts'
import type {
  RetryRequest,
  ScheduleChange,
  ScheduleRequest,
  StartRequest,
} from '../schemas/types.ts'
import { ApiCalls, PLAIN_TEXT, type Resource } from './api-calls.ts'
import { busyErrorOf, notThisApi, RequestRejected, ServerError } from './errors.ts'
import { ADMIN_PATHS } from './paths.ts'
import * as responses from './responses.ts'
import type { RequestOptions } from './send-request.ts'
import { webhooksApi } from './webhooks-api.ts'

const CHECK_ADDRESS = 'check --url (for GitHub Enterprise Server: https://HOST/api/v3)'

/** The operations of a server of this API. Servers other than Godwit respond with 404 to those that only Godwit has. */
export class MigrationsApi extends ApiCalls {
  /** Only Godwit servers have schedules. */
  readonly schedules = schedulesApi(this)
  readonly webhooks = webhooksApi(this)

  /** Returns the account of the token. */
  user() {
    const missing = `${this.server.url} has no API at this address: ${CHECK_ADDRESS}`
    return this.call('GET', { path: '/user', missing }, responses.userResponse)
  }

  start(body: StartRequest) {
    const resource = { ...this.#migrations(), repositories: body.repositories }
    return this.call('POST', resource, responses.statusResponse, body)
  }

  /** Only Godwit servers have it. */
  preflight(body: StartRequest) {
    const resource = {
      path: `${this.paths.migrations}/preflight`,
      missing: `${this.server.url} has no preflight: only Godwit servers have it`,
      repositories: body.repositories,
    }
    return this.call('POST', resource, responses.forecastResponse, body)
  }

  list = () => this.listAll(this.#migrations(), responses.migrationResponse)
  show = (id: number) => this.call('GET', this.#migration(id), responses.migrationResponse)
  repositories = (id: number) =>
    this.listAll(this.#migration(id, '/repositories'), responses.repositoryResponse)

  /** Lists the repositories of the caller or the organization. */
  ownRepositories() {
    const { org, url } = this.server
    const whose = org === undefined ? 'your repositories' : `repositories of ${org}`
    const missing = `${url} does not list ${whose}: give their names instead of --all`
    return this.listAll({ path: this.paths.repositories, missing }, responses.repositoryResponse)
  }

  /** Returns the organizations that the caller owns and `--org` could name, as far as the server says. */
  async ownedOrganizations(): Promise<string[]> {
    if (this.server.org !== undefined) return []
    const resource = { path: '/user/memberships/orgs', missing: 'there are no memberships' }
    const all = await this.listAll(resource, responses.membershipResponse).catch((error) => {
      // Another server may not have it, or not for this token.
      if (error instanceof RequestRejected) return []
      throw error
    })
    return all.filter(({ role }) => role === 'admin').map(({ organization }) => organization.login)
  }

  /** Returns undefined if the server does not list repositories. */
  visibleRepositories = () => ifServerHas(this.ownRepositories())

  /** Returns the migration without its repositories, or undefined if it still has this ETag. */
  async status(id: number, etag?: string) {
    const headers = etag === undefined ? {} : { 'if-none-match': etag }
    const response = await this.request('GET', this.#migration(id), {
      exclude: ['repositories'],
      headers,
    }).catch((error: unknown) => {
      if (!(error instanceof RequestRejected) || error.status !== 304) throw error
    })
    if (!response) return undefined
    const migration = this.validate(response.data, responses.statusResponse)
    return { migration, etag: response.headers.etag }
  }

  deleteArchive = (id: number) => this.#requestArchive('DELETE', id)

  unlock(id: number, name: string) {
    const missing = `${name} is not locked by migration ${id}`
    const resource = { ...this.#migration(id, '/repos/{repo_name}/lock'), missing }
    return this.request('DELETE', resource, { repo_name: name })
  }

  /** Returns the same file name as the `content-disposition` header of a Godwit server. */
  async archiveName(id: number): Promise<string> {
    // An error is ignored here: the request for the archive itself reports it.
    const found = await ifServerHas(this.status(id))
    const { owner, created_at } = found?.migration ?? {}
    const at = new Date(created_at ?? '')
    if (typeof owner?.login !== 'string' || Number.isNaN(at.getTime()))
      return `migration-${id}.tar.gz`
    const summary = await this.summary(id)
    return archiveName({ id, login: owner.login, createdAt: at, name: summary?.name })
  }

  /** Returns the download link of the archive. It works without a token for a few minutes, so treat it as a credential. */
  async archiveLink(id: number): Promise<URL> {
    const { url } = this.server
    const request = { redirect: 'manual', parseSuccessResponseBody: false }
    const response = await this.#requestArchive('GET', id, { request })
    const { headers, status, data } = response
    await (data as ReadableStream | null)?.cancel()
    if (headers.location === undefined || status < 300)
      throw new RequestRejected(status, `${url} returned no download link`)
    const link = URL.parse(headers.location, url)
    if (!link) throw notThisApi(url)
    return link
  }

  /** Opens the event stream of a migration. Returns undefined if the server has none. */
  async events(id: number, after: string, options: RequestOptions): Promise<Response | undefined> {
    const { url, userAgent } = this.server
    const headers = { accept: 'text/event-stream', 'user-agent': userAgent }
    const response = await this.send(`${url}${this.paths.migrations}/${id}/progress`, {
      headers: { ...headers, ...(after && { 'last-event-id': after }) },
      ...options,
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (response.ok && isStream && response.body) return response
    await response.body?.cancel()
    const { status } = response
    // A proxy sends these while the server restarts, so the server may still have event streams.
    if ([502, 503, 504].includes(status))
      throw busyErrorOf(response, url) ?? new ServerError(status, `${url} responded ${status}`)
    return undefined
  }

  /** Only Godwit servers have this operation and all that follow. */
  cancel(id: number) {
    const resource = this.#godwitOnly(id, '/cancel', 'cancelling')
    return this.call('POST', resource, responses.statusResponse)
  }

  retry = (id: number, body: RetryRequest = {}) =>
    this.call('POST', this.#retry(id), responses.statusResponse, body)

  /** Returns undefined if the server has no retry forecasts. */
  retryForecast = (id: number) =>
    ifServerHas(this.call('GET', this.#retry(id), responses.retryForecastResponse))

  /** Returns undefined if the server has no summaries. */
  summary(id: number) {
    const resource = this.#godwitOnly(id, '/summary', 'summaries')
    return ifServerHas(this.call('GET', resource, responses.summaryResponse))
  }

  /** Returns the summaries of all migrations, or undefined if the server has none. */
  summaries = () =>
    ifServerHas(this.listAll(this.#migrations('/summaries'), responses.summaryResponse))

  report = (id: number) => this.call('GET', this.#report(id), responses.anyObject)

  async reportText(id: number): Promise<string> {
    const headers = { accept: PLAIN_TEXT }
    const { data } = await this.request('GET', this.#report(id), { headers })
    return String(data)
  }

  results = async (id: number) =>
    (await this.call('GET', this.#report(id), responses.reportResponse)).repositories

  /** Lists the repositories that could not be exported, or only without some of their LFS objects. */
  notCompletelyExported = async (id: number) =>
    (await this.results(id)).filter(
      ({ reason, missing_lfs_objects: missing }) => reason !== null || (missing ?? 0) > 0,
    )

  /** Lists the caller's own tokens. A token cannot create or revoke tokens. */
  ownTokens() {
    const missing = `${this.server.url} cannot list your tokens: only Godwit servers can`
    return this.listAll({ path: '/user/tokens', missing }, responses.tokenResponse)
  }

  /** This operation and all that follow need the token of a site admin. */
  service = () =>
    this.call('GET', this.#admin(ADMIN_PATHS.service, 'it'), responses.serviceResponse)
  cancelAny = (id: number) =>
    this.call('POST', this.#anyMigration(id, '/cancel'), responses.summaryResponse)
  retryAny = (id: number, body: RetryRequest) =>
    this.call('POST', this.#anyMigration(id, '/retry'), responses.summaryResponse, body)

  deleteAnyArchive = (id: number) =>
    this.request('DELETE', this.#anyMigration(id, '/archive', `the archive of migration ${id}`))

  releaseAnyLock(repository: string) {
    const [owner, name] = repository.split('/')
    const resource = this.#admin(ADMIN_PATHS.lock, `a lock of ${repository}`)
    return this.request('DELETE', resource, { owner, name })
  }

  tokens = () =>
    this.call('GET', this.#admin(ADMIN_PATHS.tokens, 'them'), arrayOf(responses.tokenResponse))
  revokeAnyToken = (id: number) =>
    this.request('DELETE', this.#admin(ADMIN_PATHS.token, `a valid token ${id}`), { token_id: id })

  #migrations(subpath = ''): Resource {
    const { org, url } = this.server
    return {
      path: `${this.paths.migrations}${subpath}`,
      missing:
        org === undefined
          ? `${url} has no migrations API: ${CHECK_ADDRESS}`
          : `${url} has no organization ${org} of which you are an owner, or no migrations API: check --org, or ${CHECK_ADDRESS}`,
    }
  }

  #migration(id: number, subpath = ''): Resource {
    return {
      path: `${this.paths.migration}${subpath}`,
      parameters: { migration_id: id },
      missing: `${this.#missingMigration(id)}: \`godwit migration list${this.orgFlag}\` shows all`,
    }
  }

  /** If there is no archive, the error says why, if the migration's state explains it. */
  async #requestArchive(method: 'GET' | 'DELETE', id: number, options: object = {}) {
    const resource = this.#migration(id, '/archive')
    try {
      return await this.request(method, resource, options)
    } catch (error) {
      if (!(error instanceof RequestRejected) || error.status !== 404) throw error
      const found = await ifServerHas(this.status(id))
      const cause = found ? this.#whyNoArchive(id, found.migration.state) : resource.missing
      const sent = `${method} ${this.server.url}${this.paths.migrations}/${id}/archive`
      const message = `migration ${id} has no archive: ${cause} (${sent} returned 404)`
      throw new RequestRejected(404, message, { cause: error })
    }
  }

  #whyNoArchive(id: number, state: string): string {
    const command = (verb: string) => `\`godwit migration ${verb} ${id}${this.orgFlag}\``
    if (state === 'exported') return 'it was deleted or has expired; start a new migration'
    if (state === 'failed') return `it failed or was cancelled; ${command('show')} shows the reason`
    return `it is still ${state}; wait with ${command('watch')}`
  }

  #report = (id: number): Resource => this.#godwitOnly(id, '/report', 'reports')
  #retry = (id: number): Resource => this.#godwitOnly(id, '/retry', 'retries')

  #godwitOnly(id: number, subpath: string, what: string): Resource {
    const missing = `${this.#missingMigration(id)}, or no ${what}: only Godwit servers have them`
    return { ...this.#migration(id, subpath), missing }
  }

  #anyMigration(id: number, subpath: string, what = `migration ${id}`): Resource {
    const resource = this.#admin(`${ADMIN_PATHS.migration}${subpath}`, what)
    return { ...resource, parameters: { migration_id: id } }
  }

  #admin(path: string, what: string): Resource {
    const missing = `${this.server.url} does not have ${what}, or this account is not a site admin of it`
    return { path, missing }
  }

  #missingMigration = (id: number): string => this.notFoundMessage(`migration ${id}`)
}

/** Returns undefined if the server does not have an operation: it rejects the request, or its response has another shape. */
async function ifServerHas<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof RequestRejected && ![401, 403].includes(error.status)) return undefined
    throw error
  }
}

/** Schedules: migrations that are started every day or every week. Only Godwit servers have them. */
function schedulesApi(calls: ApiCalls) {
  function schedules(repositories: readonly string[] = []): Resource {
    const { url, org } = calls.server
    const where = org === undefined ? '' : `no organization ${org} of which you are an owner, or `
    const missing = `${url} has ${where}no schedules: only Godwit servers have them`
    return { path: calls.paths.schedules, missing, repositories }
  }

  const schedule = (id: number, subpath = ''): Resource => ({
    path: `${calls.paths.schedule}${subpath}`,
    parameters: { schedule_id: id },
    missing: `${calls.notFoundMessage(`schedule ${id}`)}: \`godwit schedule list${calls.orgFlag}\` shows all`,
  })

  return {
    list: () => calls.listAll(schedules(), responses.scheduleResponse),
    show: (id: number) => calls.call('GET', schedule(id), responses.scheduleResponse),
    runs: (id: number) => calls.listAll(schedule(id, '/runs'), responses.scheduleRunResponse),
    add: (body: ScheduleRequest) =>
      calls.call('POST', schedules(body.repositories), responses.scheduleResponse, body),
    change(id: number, body: ScheduleChange) {
      const resource = { ...schedule(id), repositories: body.repositories ?? [] }
      return calls.call('PATCH', resource, responses.scheduleResponse, body)
    },
    remove: (id: number) => calls.request('DELETE', schedule(id)),
    run: (id: number) => calls.call('POST', schedule(id, '/runs'), responses.scheduleRunResponse),
    /** Deletes a protected archive, which the schedule keeps in addition to its newest ones. */
    release(id: number, migrationId: number) {
      const resource = schedule(id, '/protected-archives/{migration_id}')
      const missing = `schedule ${id} has no protected archive of migration ${migrationId}: \`godwit schedule show ${id}${calls.orgFlag}\` lists them`
      return calls.request('DELETE', { ...resource, missing }, { migration_id: migrationId })
    },
  }
}
