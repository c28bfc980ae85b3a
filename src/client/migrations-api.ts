import { archiveName } from '../lib/archive-name.ts'
import { arrayOf } from '../wire/schema.ts'
import type { RetryRequest, StartRequest } from '../wire/types.ts'
import { ApiCalls, type ErrorContext, PLAIN_TEXT } from './api-calls.ts'
import { notThisApi, RequestRejected, ServerError } from './errors.ts'
import { readRetryAfter } from './explain-error.ts'
import {
  anyObject,
  type ForecastResponse,
  forecastResponse,
  type MigrationResponse,
  migrationResponse,
  type RepositoryProgressResponse,
  type RepositoryResponse,
  type RetryForecastResponse,
  reportResponse,
  repositoryResponse,
  retryForecastResponse,
  type ServiceResponse,
  type StatusResponse,
  type SummaryResponse,
  serviceResponse,
  statusResponse,
  summaryResponse,
  type TokenResponse,
  tokenResponse,
} from './responses.ts'
import { SchedulesApi } from './schedules-api.ts'
import type { Send } from './send-request.ts'
import type { RequestOptions, Server } from './server.ts'
import { WebhooksApi } from './webhooks-api.ts'

const ANY = '/admin/migrations/{migration_id}'

/** The operations of a server of this API. Those that only Godwit has answer 404 elsewhere. */
export class MigrationsApi {
  readonly server: Server
  /** Godwit's own. */
  readonly schedules: SchedulesApi
  readonly webhooks: WebhooksApi
  readonly #calls: ApiCalls
  readonly #migrations: string
  readonly #one: string

  constructor(server: Server, options: RequestOptions) {
    this.server = server
    const { org } = server
    this.#migrations = org === undefined ? '/user/migrations' : `/orgs/${org}/migrations`
    this.#one = `${this.#migrations}/{migration_id}`
    this.#calls = new ApiCalls(server, options)
    this.schedules = new SchedulesApi(server, this.#calls, this.#migrations)
    this.webhooks = new WebhooksApi(server, this.#calls)
  }

  get send(): Send {
    return this.#calls.send
  }

  start(body: StartRequest): Promise<StatusResponse> {
    const context = { ...this.#ofApi(), repositories: body.repositories }
    return this.#calls.one(`POST ${this.#migrations}`, body, context, statusResponse)
  }

  /** Godwit's own. */
  preflight(body: StartRequest): Promise<ForecastResponse> {
    const missing = `${this.server.url} has no preflight: only Godwit servers have it`
    const context = { missing, repositories: body.repositories }
    return this.#calls.one(`POST ${this.#migrations}/preflight`, body, context, forecastResponse)
  }

  list(): Promise<MigrationResponse[]> {
    return this.#calls.all(`GET ${this.#migrations}`, {}, this.#ofApi(), migrationResponse)
  }

  show(id: number): Promise<MigrationResponse> {
    return this.#calls.one(
      `GET ${this.#one}`,
      numbered(id),
      this.#ofMigration(id),
      migrationResponse,
    )
  }

  repositories(id: number): Promise<RepositoryResponse[]> {
    const route = `GET ${this.#one}/repositories`
    return this.#calls.all(route, numbered(id), this.#ofMigration(id), repositoryResponse)
  }

  /** Those of the caller or the organization, where the server lists them. */
  ownRepositories(): Promise<RepositoryResponse[]> {
    const { org, url } = this.server
    const path = org === undefined ? '/user/repos' : `/orgs/${org}/repos`
    const missing = `${url} does not list ${org === undefined ? 'your repositories' : `repositories of ${org}`}: give their names instead of --all`
    return this.#calls.all(`GET ${path}`, {}, { missing }, repositoryResponse)
  }

  /** The state alone, or undefined where nothing has changed since. */
  async status(id: number, etag?: string) {
    const headers = etag === undefined ? {} : { 'if-none-match': etag }
    const asked = { ...numbered(id), exclude: ['repositories'], headers }
    const answer = await this.#calls
      .request(`GET ${this.#one}`, asked, this.#ofMigration(id))
      .catch((error: unknown) => {
        if (!(error instanceof RequestRejected) || error.status !== 304) throw error
      })
    if (!answer) return undefined
    return {
      migration: this.#calls.checked(answer.data, statusResponse),
      etag: answer.headers.etag,
    }
  }

  async deleteArchive(id: number): Promise<void> {
    await this.#calls.request(`DELETE ${this.#one}/archive`, numbered(id), this.#ofArchive(id))
  }

  async unlock(id: number, name: string): Promise<void> {
    const missing = `${name} is not locked by migration ${id}`
    const asked = { ...numbered(id), repo_name: name }
    await this.#calls.request(`DELETE ${this.#one}/repos/{repo_name}/lock`, asked, { missing })
  }

  /** What Godwit calls its file too. */
  async archiveName(id: number): Promise<string> {
    // What is wrong with it, the request for the archive says.
    const seen = await ifServerHas(this.status(id))
    const { owner, created_at } = seen?.migration ?? {}
    const at = new Date(created_at ?? '')
    if (typeof owner?.login !== 'string' || Number.isNaN(at.getTime()))
      return `migration-${id}.tar.gz`
    return archiveName(id, owner.login, at)
  }

  /** Where the archive is to be fetched from: a credential, for a few minutes. */
  async archiveLink(id: number): Promise<URL> {
    const { url } = this.server
    const request = { redirect: 'manual', parseSuccessResponseBody: false }
    const asked = { ...numbered(id), request }
    const answer = await this.#calls.request(`GET ${this.#one}/archive`, asked, this.#ofArchive(id))
    const { headers, status, data } = answer
    await (data as ReadableStream | null)?.cancel()
    if (headers.location === undefined || status < 300)
      throw new RequestRejected(status, `${url} returned no download link`)
    const place = URL.parse(headers.location, url)
    if (!place) throw notThisApi(url)
    return place
  }

  /** Godwit's own, as are those that follow. */
  cancel(id: number): Promise<StatusResponse> {
    const context = this.#ofGodwit('cancelling', id)
    return this.#calls.one(`POST ${this.#one}/cancel`, numbered(id), context, statusResponse)
  }

  retry(id: number, body: RetryRequest = {}): Promise<StatusResponse> {
    const context = this.#ofGodwit('retries', id)
    const asked = { ...numbered(id), ...body }
    return this.#calls.one(`POST ${this.#one}/retry`, asked, context, statusResponse)
  }

  /** Undefined where the server has none: only Godwit does. */
  summary(id: number): Promise<SummaryResponse | undefined> {
    const context = this.#ofGodwit('summaries', id)
    return ifServerHas(
      this.#calls.one(`GET ${this.#one}/summary`, numbered(id), context, summaryResponse),
    )
  }

  /** The same of all. */
  summaries(): Promise<SummaryResponse[] | undefined> {
    return ifServerHas(
      this.#calls.all(`GET ${this.#migrations}/summaries`, {}, this.#ofApi(), summaryResponse),
    )
  }

  /** Those that could not be exported, and why. */
  async notExported(id: number): Promise<RepositoryProgressResponse[]> {
    const context = this.#ofGodwit('reports', id)
    const report = await this.#calls.one(
      `GET ${this.#one}/report`,
      numbered(id),
      context,
      reportResponse,
    )
    return report.repositories.filter(({ reason }) => reason !== null)
  }

  /** Undefined where the server has none. */
  retryForecast(id: number): Promise<RetryForecastResponse | undefined> {
    const context = this.#ofGodwit('retries', id)
    return ifServerHas(
      this.#calls.one(`GET ${this.#one}/retry`, numbered(id), context, retryForecastResponse),
    )
  }

  report(id: number): Promise<Record<string, unknown>> {
    const context = this.#ofGodwit('reports', id)
    return this.#calls.one(`GET ${this.#one}/report`, numbered(id), context, anyObject)
  }

  /** The same for people. */
  async reportText(id: number): Promise<string> {
    const asked = { ...numbered(id), headers: { accept: PLAIN_TEXT } }
    const context = this.#ofGodwit('reports', id)
    const { data } = await this.#calls.request(`GET ${this.#one}/report`, asked, context)
    return String(data)
  }

  /** Of the whole service, as are those that follow: for site admins alone. */
  service(): Promise<ServiceResponse> {
    return this.#calls.one('GET /admin/service', {}, this.#ofOperator('it'), serviceResponse)
  }

  cancelAny(id: number): Promise<SummaryResponse> {
    const context = this.#ofOperator(`migration ${id}`)
    return this.#calls.one(`POST ${ANY}/cancel`, numbered(id), context, summaryResponse)
  }

  retryAny(id: number, body: RetryRequest): Promise<SummaryResponse> {
    const context = this.#ofOperator(`migration ${id}`)
    const asked = { ...numbered(id), ...body }
    return this.#calls.one(`POST ${ANY}/retry`, asked, context, summaryResponse)
  }

  async deleteAnyArchive(id: number): Promise<void> {
    const context = this.#ofOperator(`the archive of migration ${id}`)
    await this.#calls.request(`DELETE ${ANY}/archive`, numbered(id), context)
  }

  async releaseAny(repository: string): Promise<void> {
    const [owner, name] = repository.split('/')
    const context = this.#ofOperator(`a lock of ${repository}`)
    await this.#calls.request('DELETE /admin/locks/{owner}/{name}', { owner, name }, context)
  }

  async tokens(): Promise<TokenResponse[]> {
    const context = this.#ofOperator('them')
    return this.#calls.one('GET /admin/tokens', {}, context, arrayOf(tokenResponse))
  }

  async revokeAny(id: number): Promise<void> {
    const context = this.#ofOperator(`a valid token ${id}`)
    await this.#calls.request('DELETE /admin/tokens/{id}', { id }, context)
  }

  #ofOperator = (what: string): ErrorContext => ({
    missing: `${this.server.url} does not have ${what}, or this account is not a site admin of it`,
  })

  /** An open stream of events, or undefined where the server has none. */
  async events(id: number, after: string, options: RequestOptions): Promise<Response | undefined> {
    const { url, userAgent } = this.server
    const headers = { accept: 'text/event-stream', 'user-agent': userAgent }
    const answer = await this.send(`${url}${this.#migrations}/${id}/progress`, {
      headers: { ...headers, ...(after && { 'last-event-id': after }) },
      ...options,
    })
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream')
    if (answer.ok && isStream && answer.body) return answer
    await answer.body?.cancel()
    // A proxy before a server that starts again: no word on whether it has events.
    if ([502, 503, 504].includes(answer.status))
      throw (
        readRetryAfter(answer, url) ??
        new ServerError(answer.status, `${url} answers ${answer.status}`)
      )
    return undefined
  }

  /** To be said with a command that is about the same migrations. */
  get #flags(): string {
    return this.server.org === undefined ? '' : ` --org ${this.server.org}`
  }

  #ofApi = (): ErrorContext => {
    const { org, url } = this.server
    const address = 'check --url (for GitHub Enterprise Server: https://HOST/api/v3)'
    const missing =
      org === undefined
        ? `${url} has no migrations API: ${address}`
        : `${url} has no organization ${org} of which you are an owner, or no migrations API: check --org, or ${address}`
    return { missing }
  }

  #ofMigration = (id: number): ErrorContext => ({
    missing: `${this.server.url} has no migration ${id} for ${this.server.org ?? 'this account'}: \`godwit migration list${this.#flags}\` shows all`,
  })

  #ofArchive = (id: number): ErrorContext => ({
    missing: `migration ${id} has no archive at ${this.server.url}: it is not exported yet, the archive was deleted or has expired, or the migration does not exist; see \`godwit migration show ${id}${this.#flags}\``,
  })

  #ofGodwit = (what: string, id: number): ErrorContext => ({
    missing: `${this.server.url} has no migration ${id} for ${this.server.org ?? 'this account'}, or no ${what}: only Godwit servers have them`,
  })
}

/** What only Godwit has: another server refuses it, or answers something else. */
async function ifServerHas<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof RequestRejected && ![401, 403].includes(error.status)) return undefined
    throw error
  }
}

const numbered = (id: number) => ({ migration_id: id })
