import { archiveName } from '../lib/archive-name.ts'
import { arrayOf } from '../wire/schema.ts'
import type { RetryRequest, StartRequest } from '../wire/types.ts'
import { ApiCalls, type ErrorContext, PLAIN_TEXT } from './api-calls.ts'
import { notThisApi, RequestRejected, ServerError } from './errors.ts'
import { readRetryAfter } from './explain-error.ts'
import { ADMIN_PATHS, type ApiPaths, pathsOf } from './paths.ts'
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
import type { RequestOptions, Send, Server } from './send-request.ts'
import { WebhooksApi } from './webhooks-api.ts'

/** The operations of a server of this API. Other servers than Godwit answer 404 to those that only Godwit has. */
export class MigrationsApi {
  readonly server: Server
  /** Only Godwit servers have schedules. */
  readonly schedules: SchedulesApi
  readonly webhooks: WebhooksApi
  readonly #calls: ApiCalls
  readonly #paths: ApiPaths

  constructor(server: Server, options: RequestOptions) {
    this.server = server
    this.#paths = pathsOf(server.org)
    this.#calls = new ApiCalls(server, options)
    this.schedules = new SchedulesApi(server, this.#calls, this.#paths)
    this.webhooks = new WebhooksApi(server, this.#calls, this.#paths)
  }

  get send(): Send {
    return this.#calls.send
  }

  start(body: StartRequest): Promise<StatusResponse> {
    const context = { ...this.#apiContext(), repositories: body.repositories }
    return this.#calls.one(`POST ${this.#paths.migrations}`, body, context, statusResponse)
  }

  /** Only Godwit servers have it. */
  preflight(body: StartRequest): Promise<ForecastResponse> {
    const missing = `${this.server.url} has no preflight: only Godwit servers have it`
    const context = { missing, repositories: body.repositories }
    return this.#calls.one(
      `POST ${this.#paths.migrations}/preflight`,
      body,
      context,
      forecastResponse,
    )
  }

  list(): Promise<MigrationResponse[]> {
    return this.#calls.all(
      `GET ${this.#paths.migrations}`,
      {},
      this.#apiContext(),
      migrationResponse,
    )
  }

  show(id: number): Promise<MigrationResponse> {
    const context = this.#migrationContext(id)
    return this.#calls.one(
      `GET ${this.#paths.migration}`,
      { migration_id: id },
      context,
      migrationResponse,
    )
  }

  repositories(id: number): Promise<RepositoryResponse[]> {
    const route = `GET ${this.#paths.migration}/repositories`
    return this.#calls.all(
      route,
      { migration_id: id },
      this.#migrationContext(id),
      repositoryResponse,
    )
  }

  /** Lists the repositories of the caller or the organization. */
  ownRepositories(): Promise<RepositoryResponse[]> {
    const { org, url } = this.server
    const missing = `${url} does not list ${org === undefined ? 'your repositories' : `repositories of ${org}`}: give their names instead of --all`
    return this.#calls.all(`GET ${this.#paths.repositories}`, {}, { missing }, repositoryResponse)
  }

  /** Returns the migration without its repositories, or undefined if it still has this ETag. */
  async status(id: number, etag?: string) {
    const headers = etag === undefined ? {} : { 'if-none-match': etag }
    const parameters = { migration_id: id, exclude: ['repositories'], headers }
    const response = await this.#calls
      .request(`GET ${this.#paths.migration}`, parameters, this.#migrationContext(id))
      .catch((error: unknown) => {
        if (!(error instanceof RequestRejected) || error.status !== 304) throw error
      })
    if (!response) return undefined
    return {
      migration: this.#calls.checked(response.data, statusResponse),
      etag: response.headers.etag,
    }
  }

  async deleteArchive(id: number): Promise<void> {
    await this.#calls.request(
      `DELETE ${this.#paths.migration}/archive`,
      { migration_id: id },
      this.#archiveContext(id),
    )
  }

  async unlock(id: number, name: string): Promise<void> {
    const missing = `${name} is not locked by migration ${id}`
    const parameters = { migration_id: id, repo_name: name }
    const route = `DELETE ${this.#paths.migration}/repos/{repo_name}/lock`
    await this.#calls.request(route, parameters, { missing })
  }

  /** Returns the file name that Godwit gives the archive as well. */
  async archiveName(id: number): Promise<string> {
    // The request for the archive itself reports any error.
    const found = await ifServerHas(this.status(id))
    const { owner, created_at } = found?.migration ?? {}
    const at = new Date(created_at ?? '')
    if (typeof owner?.login !== 'string' || Number.isNaN(at.getTime()))
      return `migration-${id}.tar.gz`
    return archiveName(id, owner.login, at)
  }

  /** Returns the download link of the archive. It works without a token for a few minutes, so treat it as a credential. */
  async archiveLink(id: number): Promise<URL> {
    const { url } = this.server
    const request = { redirect: 'manual', parseSuccessResponseBody: false }
    const parameters = { migration_id: id, request }
    const route = `GET ${this.#paths.migration}/archive`
    const response = await this.#calls.request(route, parameters, this.#archiveContext(id))
    const { headers, status, data } = response
    await (data as ReadableStream | null)?.cancel()
    if (headers.location === undefined || status < 300)
      throw new RequestRejected(status, `${url} returned no download link`)
    const link = URL.parse(headers.location, url)
    if (!link) throw notThisApi(url)
    return link
  }

  /** Only Godwit servers have this operation and the ones below. */
  cancel(id: number): Promise<StatusResponse> {
    const context = this.#godwitContext('cancelling', id)
    return this.#calls.one(
      `POST ${this.#paths.migration}/cancel`,
      { migration_id: id },
      context,
      statusResponse,
    )
  }

  retry(id: number, body: RetryRequest = {}): Promise<StatusResponse> {
    const context = this.#godwitContext('retries', id)
    const parameters = { migration_id: id, ...body }
    return this.#calls.one(
      `POST ${this.#paths.migration}/retry`,
      parameters,
      context,
      statusResponse,
    )
  }

  /** Returns undefined if the server has no summaries. */
  summary(id: number): Promise<SummaryResponse | undefined> {
    const context = this.#godwitContext('summaries', id)
    return ifServerHas(
      this.#calls.one(
        `GET ${this.#paths.migration}/summary`,
        { migration_id: id },
        context,
        summaryResponse,
      ),
    )
  }

  /** Returns the summaries of all migrations, or undefined if the server has none. */
  summaries(): Promise<SummaryResponse[] | undefined> {
    return ifServerHas(
      this.#calls.all(
        `GET ${this.#paths.migrations}/summaries`,
        {},
        this.#apiContext(),
        summaryResponse,
      ),
    )
  }

  /** Lists the repositories that could not be exported, with the reasons. */
  async notExported(id: number): Promise<RepositoryProgressResponse[]> {
    const context = this.#godwitContext('reports', id)
    const report = await this.#calls.one(
      `GET ${this.#paths.migration}/report`,
      { migration_id: id },
      context,
      reportResponse,
    )
    return report.repositories.filter(({ reason }) => reason !== null)
  }

  /** Returns undefined if the server has no retry forecasts. */
  retryForecast(id: number): Promise<RetryForecastResponse | undefined> {
    const context = this.#godwitContext('retries', id)
    return ifServerHas(
      this.#calls.one(
        `GET ${this.#paths.migration}/retry`,
        { migration_id: id },
        context,
        retryForecastResponse,
      ),
    )
  }

  report(id: number): Promise<Record<string, unknown>> {
    const context = this.#godwitContext('reports', id)
    return this.#calls.one(
      `GET ${this.#paths.migration}/report`,
      { migration_id: id },
      context,
      anyObject,
    )
  }

  /** Returns the report as plain text. */
  async reportText(id: number): Promise<string> {
    const parameters = { migration_id: id, headers: { accept: PLAIN_TEXT } }
    const context = this.#godwitContext('reports', id)
    const { data } = await this.#calls.request(
      `GET ${this.#paths.migration}/report`,
      parameters,
      context,
    )
    return String(data)
  }

  /** This operation and the ones below need the token of a site admin. */
  service(): Promise<ServiceResponse> {
    return this.#calls.one(
      `GET ${ADMIN_PATHS.service}`,
      {},
      this.#adminContext('it'),
      serviceResponse,
    )
  }

  cancelAny(id: number): Promise<SummaryResponse> {
    const context = this.#adminContext(`migration ${id}`)
    return this.#calls.one(
      `POST ${ADMIN_PATHS.migration}/cancel`,
      { migration_id: id },
      context,
      summaryResponse,
    )
  }

  retryAny(id: number, body: RetryRequest): Promise<SummaryResponse> {
    const context = this.#adminContext(`migration ${id}`)
    const parameters = { migration_id: id, ...body }
    return this.#calls.one(
      `POST ${ADMIN_PATHS.migration}/retry`,
      parameters,
      context,
      summaryResponse,
    )
  }

  async deleteAnyArchive(id: number): Promise<void> {
    const context = this.#adminContext(`the archive of migration ${id}`)
    await this.#calls.request(
      `DELETE ${ADMIN_PATHS.migration}/archive`,
      { migration_id: id },
      context,
    )
  }

  async releaseAny(repository: string): Promise<void> {
    const [owner, name] = repository.split('/')
    const context = this.#adminContext(`a lock of ${repository}`)
    await this.#calls.request(`DELETE ${ADMIN_PATHS.lock}`, { owner, name }, context)
  }

  async tokens(): Promise<TokenResponse[]> {
    const context = this.#adminContext('them')
    return this.#calls.one(`GET ${ADMIN_PATHS.tokens}`, {}, context, arrayOf(tokenResponse))
  }

  async revokeAny(id: number): Promise<void> {
    const context = this.#adminContext(`a valid token ${id}`)
    await this.#calls.request(`DELETE ${ADMIN_PATHS.token}`, { token_id: id }, context)
  }

  #adminContext = (what: string): ErrorContext => ({
    missing: `${this.server.url} does not have ${what}, or this account is not a site admin of it`,
  })

  /** Opens the event stream of a migration. Returns undefined if the server has none. */
  async events(id: number, after: string, options: RequestOptions): Promise<Response | undefined> {
    const { url, userAgent } = this.server
    const headers = { accept: 'text/event-stream', 'user-agent': userAgent }
    const response = await this.send(`${url}${this.#paths.migrations}/${id}/progress`, {
      headers: { ...headers, ...(after && { 'last-event-id': after }) },
      ...options,
    })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    if (response.ok && isStream && response.body) return response
    await response.body?.cancel()
    // A proxy answers for a server that is restarting, so the server may still have event streams.
    if ([502, 503, 504].includes(response.status))
      throw (
        readRetryAfter(response, url) ??
        new ServerError(response.status, `${url} answers ${response.status}`)
      )
    return undefined
  }

  /** The `--org` option for a command that a message suggests. */
  get #orgFlag(): string {
    return this.server.org === undefined ? '' : ` --org ${this.server.org}`
  }

  #apiContext = (): ErrorContext => {
    const { org, url } = this.server
    const address = 'check --url (for GitHub Enterprise Server: https://HOST/api/v3)'
    const missing =
      org === undefined
        ? `${url} has no migrations API: ${address}`
        : `${url} has no organization ${org} of which you are an owner, or no migrations API: check --org, or ${address}`
    return { missing }
  }

  #migrationContext = (id: number): ErrorContext => ({
    missing: `${this.server.url} has no migration ${id} for ${this.server.org ?? 'this account'}: \`godwit migration list${this.#orgFlag}\` shows all`,
  })

  #archiveContext = (id: number): ErrorContext => ({
    missing: `migration ${id} has no archive at ${this.server.url}: it is not exported yet, the archive was deleted or has expired, or the migration does not exist; see \`godwit migration show ${id}${this.#orgFlag}\``,
  })

  #godwitContext = (what: string, id: number): ErrorContext => ({
    missing: `${this.server.url} has no migration ${id} for ${this.server.org ?? 'this account'}, or no ${what}: only Godwit servers have them`,
  })
}

/** Returns undefined if the server rejects an operation that only Godwit has, or answers something else. */
async function ifServerHas<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof RequestRejected && ![401, 403].includes(error.status)) return undefined
    throw error
  }
}
