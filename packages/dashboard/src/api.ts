import { readEvents, type ServerEvent } from '@godwit/contract/client/event-stream'
import { ADMIN_PATHS, type ApiPaths, pathsOf } from '@godwit/contract/client/paths'
import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import {
  type ApiResponse,
  type Calls,
  createCalls,
  type PageOptions,
  type ReadOptions,
} from './api-calls.ts'
import type {
  ArchiveLink,
  AuditEntry,
  Branch,
  Forecast,
  FullRepository,
  FullWebhookDelivery,
  Lock,
  LockWithMigration,
  Migration,
  NewToken,
  Organization,
  OrganizationMembership,
  Period,
  Progress,
  Quota,
  Repository,
  RetryForecast,
  RetryRequest,
  Root,
  Schedule,
  ScheduleChange,
  ScheduleRequest,
  ScheduleRun,
  ServiceState,
  Session,
  StartRequest,
  Summary,
  Tag,
  Token,
  TokenRequest,
  User,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookRequest,
} from './api-types.ts'

const AUDIT_ROUTES = { all: `GET ${ADMIN_PATHS.audit}`, own: 'GET /user/audit' }

export type Api = ReturnType<typeof createOperations>

/** Returns the operations on the caller's own resources, or on those of an organization. */
export type ApiOf = (org?: string) => Api

/** The API has the same base URL as this page. */
export const API_ADDRESS = new URL('.', location.href).href.replace(/\/$/, '')

/** Reads what the operator has chosen: the media type of the API, and how to sign in. */
export async function readRoot(address = API_ADDRESS): Promise<Root> {
  const octokit = new Octokit({ baseUrl: address })
  const headers = { accept: 'application/json' }
  const { data } = await octokit.request('GET /', { headers })
  return data as unknown as Root
}

/** A header that other sites cannot make a browser send, against cross-site request forgery. */
const SESSION_HEADER = { 'x-godwit-session': '1' }

/** Returns the session, without a user if there is none. Scripts cannot read its cookie. */
export async function currentSession(signal: AbortSignal): Promise<Session> {
  const octokit = new Octokit({ baseUrl: API_ADDRESS })
  const options = { headers: { ...SESSION_HEADER }, request: { signal } }
  const { data } = await octokit.request('GET /session', options)
  return data as Session
}

/** Exchanges the token for a session cookie. The token is not kept. */
export async function openSession(token: string, signal: AbortSignal): Promise<Session> {
  const octokit = new Octokit({ baseUrl: API_ADDRESS })
  const options = { token, headers: { ...SESSION_HEADER }, request: { signal } }
  const { data } = await octokit.request('POST /session', options)
  return data as Session
}

/** Signs out this browser, or all browsers of the user. */
export async function closeSession({ all }: { all: boolean }): Promise<void> {
  const octokit = new Octokit({ baseUrl: API_ADDRESS })
  const path = all ? '/session?all=true' : '/session'
  await octokit.request(`DELETE ${path}`, { headers: { ...SESSION_HEADER } })
}

/** Creates the client of the public API. It returns the same object for the same organization. */
export function createApi(mediaType: string, onUnauthorized: () => void): ApiOf {
  const octokit = new (Octokit.plugin(paginateRest))({ baseUrl: API_ADDRESS })
  octokit.hook.before('request', ({ headers }) => void Object.assign(headers, SESSION_HEADER))
  octokit.hook.error('request', (error) => {
    if ('status' in error && error.status === 401) onUnauthorized()
    throw error
  })
  const calls = createCalls(octokit, mediaType)
  const apis = new Map<string | undefined, Api>()
  return (org) => {
    const api = apis.get(org) ?? createOperations(calls, pathsOf(org))
    apis.set(org, api)
    return api
  }
}

const createOperations = (calls: Calls, paths: ApiPaths) => ({
  ...callerOperations(calls),
  ...repositoryOperations(calls, paths),
  ...migrationOperations(calls, paths),
  ...scheduleOperations(calls, paths),
  ...webhookOperations(calls, paths),
  ...adminOperations(calls),
})

/** What a list of the audit log shows. Empty values do not filter. */
export type AuditQuery = Record<'actor' | 'action' | 'subject' | 'since' | 'until', string>

const callerOperations = ({ read, readAll, openStream, change }: Calls) => ({
  /** Lists the audit log: all of it for site admins, or the caller's part. */
  audit: (whose: 'all' | 'own', query: Partial<AuditQuery>, cursor: string, options: ReadOptions) =>
    read<AuditEntry[]>(AUDIT_ROUTES[whose], { ...options, ...query, cursor }),
  /** Returns all entries as JSON lines. */
  async auditLines(whose: 'all' | 'own', query: Partial<AuditQuery>): Promise<Blob> {
    const signal = new AbortController().signal
    const headers = { accept: 'application/x-ndjson' }
    return new Response(await openStream(AUDIT_ROUTES[whose], headers, { ...query, signal })).blob()
  },

  /** Lists the logins of the organizations that the caller owns. */
  async ownedOrganizations(signal: AbortSignal): Promise<string[]> {
    const keep = (each: OrganizationMembership) => each
    const all = await readAll('/user/memberships/orgs', { signal }, keep)
    const owned = all.filter(({ role }) => role === 'admin')
    return owned.map(({ organization }) => organization.login)
  },
  /** Lists the organizations in which the caller can have a token of their own. */
  organizations: (options: ReadOptions) =>
    read<Organization[]>('GET /user/orgs', { ...options, per_page: 100 }),
  ownTokens: (options: ReadOptions) =>
    read<Token[]>('GET /user/tokens', { ...options, per_page: 100 }),
  createToken: (body: TokenRequest) => change<NewToken>('POST /user/tokens', { ...body }),
  revokeToken: (id: number) => change<void>('DELETE /user/tokens/{token_id}', { token_id: id }),
  revokeTokens: () => change<void>('DELETE /user/tokens', {}),
  root: (options: ReadOptions) => read<Root>('GET /', options),
  ownLocks: (options: ReadOptions) => read<LockWithMigration[]>('GET /user/locks', options),
})

const repositoryOperations = ({ read, readFull, readAll }: Calls, { repositories }: ApiPaths) => ({
  repository: (fullName: string, options: ReadOptions) =>
    read<FullRepository>(`GET /repos/${fullName}`, options),
  branches: (fullName: string, options: ReadOptions) =>
    read<Branch[]>(`GET /repos/${fullName}/branches`, options),
  tags: (fullName: string, options: ReadOptions) =>
    read<Tag[]>(`GET /repos/${fullName}/tags`, options),
  repositories: ({ q, page, perPage, ...options }: PageOptions & { q: string }) =>
    readFull<Repository[]>(`GET ${repositories}`, {
      ...options,
      page,
      per_page: perPage,
      q,
      sort: 'full_name',
    }),
  owner: (login: string, options: ReadOptions) => read<User>(`GET /users/${login}`, options),
  /** Lists the repositories of an owner that the caller may read. */
  repositoriesOf: (login: string, { q, page, perPage, ...options }: PageOptions & { q: string }) =>
    readFull<Repository[]>(`GET /users/${login}/repos`, { ...options, page, per_page: perPage, q }),
  /** Lists the names of the repositories that cannot be exported, as of their last check. */
  async damagedRepositories({ signal }: ReadOptions): Promise<ApiResponse<string[]>> {
    const keep = ({ full_name }: Repository) => full_name
    const data = await readAll(repositories, { signal, check: 'failed' }, keep)
    return { data, etag: undefined, total: data.length }
  },
  /** Reads all pages of matching names. */
  repositoryNames: (q: string, signal: AbortSignal) =>
    readAll(repositories, { q, signal }, ({ full_name }: Repository) => full_name),
})

const migrationOperations = (
  { read, readFull, openStream, change }: Calls,
  { migrations, migration }: ApiPaths,
) => ({
  summaries: ({ page, perPage, ...options }: PageOptions) =>
    read<Summary[]>(`GET ${migrations}/summaries`, { ...options, page, per_page: perPage }),
  /** Lists the migrations that include a repository. */
  summariesOf: (fullName: string, options: ReadOptions) =>
    read<Summary[]>(`GET ${migrations}/summaries`, { ...options, repository: fullName }),
  summary: (id: number, options: ReadOptions) =>
    read<Summary>(`GET ${migration}/summary`, { ...options, migration_id: id }),
  progress: (id: number, options: ReadOptions) =>
    read<Progress>(`GET ${migration}/progress`, { ...options, migration_id: id }),
  locks: (id: number, options: ReadOptions) =>
    read<Lock[]>(`GET ${migration}/locks`, { ...options, migration_id: id }),
  /** Opens the event stream. It ends when the migration has ended, or when the connection breaks. */
  async progressEvents(
    id: number,
    lastEventId: string,
    signal: AbortSignal,
    onChunk: () => void,
  ): Promise<AsyncIterable<ServerEvent>> {
    const headers = { accept: 'text/event-stream', 'last-event-id': lastEventId }
    const parameters = { migration_id: id, signal }
    return readEvents(await openStream(`GET ${migration}/progress`, headers, parameters), onChunk)
  },

  forecast: (body: StartRequest, signal: AbortSignal) =>
    change<Forecast>(`POST ${migrations}/preflight`, { ...body, signal }),
  quota: (options: ReadOptions) => read<Quota>(`GET ${migrations}/quota`, options),
  start: (body: StartRequest) =>
    change<Migration>(`POST ${migrations}`, { ...body, exclude: ['repositories'] }),
  retryForecast: async (id: number) =>
    (await readFull<RetryForecast>(`GET ${migration}/retry`, { migration_id: id })).data,
  retry: (id: number, body: RetryRequest = {}) =>
    change<Migration>(`POST ${migration}/retry`, { migration_id: id, ...body }),
  cancel: (id: number) => change<Migration>(`POST ${migration}/cancel`, { migration_id: id }),
  deleteArchive: (id: number) => change<void>(`DELETE ${migration}/archive`, { migration_id: id }),
  unlock: (id: number, name: string) =>
    change<void>(`DELETE ${migration}/repos/{repo_name}/lock`, {
      migration_id: id,
      repo_name: name,
    }),

  /** Returns a download link. It works without a session for a few minutes, so follow it at once and do not show it. */
  archiveLink: async (id: number) =>
    (await readFull<ArchiveLink>(`GET ${migration}/archive/link`, { migration_id: id })).data,
})

const scheduleOperations = ({ read, change }: Calls, { schedules, schedule }: ApiPaths) => ({
  schedules: ({ page, perPage, ...options }: PageOptions) =>
    read<Schedule[]>(`GET ${schedules}`, { ...options, page, per_page: perPage }),
  schedule: (id: number, options: ReadOptions) =>
    read<Schedule>(`GET ${schedule}`, { ...options, schedule_id: id }),
  scheduleRuns: (id: number, options: ReadOptions) =>
    read<ScheduleRun[]>(`GET ${schedule}/runs`, { ...options, schedule_id: id }),
  addSchedule: (body: ScheduleRequest) => change<Schedule>(`POST ${schedules}`, { ...body }),
  changeSchedule: (id: number, body: ScheduleChange) =>
    change<Schedule>(`PATCH ${schedule}`, { schedule_id: id, ...body }),
  deleteSchedule: (id: number) => change<void>(`DELETE ${schedule}`, { schedule_id: id }),
  releaseArchive: (id: number, migrationId: number) =>
    change<void>(`DELETE ${schedule}/protected-archives/{migration_id}`, {
      schedule_id: id,
      migration_id: migrationId,
    }),
  runSchedule: (id: number) => change<ScheduleRun>(`POST ${schedule}/runs`, { schedule_id: id }),
})

const webhookOperations = ({ read, change }: Calls, { webhooks, webhook, delivery }: ApiPaths) => ({
  webhooks: (options: ReadOptions) =>
    read<Webhook[]>(`GET ${webhooks}`, { ...options, per_page: 100 }),
  webhook: (id: number, options: ReadOptions) =>
    read<Webhook>(`GET ${webhook}`, { ...options, hook_id: id }),
  addWebhook: (body: WebhookRequest) =>
    change<Webhook>(`POST ${webhooks}`, { name: 'web', ...body }),
  changeWebhook: (id: number, body: WebhookChange) =>
    change<Webhook>(`PATCH ${webhook}`, { hook_id: id, ...body }),
  deleteWebhook: (id: number) => change<void>(`DELETE ${webhook}`, { hook_id: id }),
  pingWebhook: (id: number) => change<void>(`POST ${webhook}/pings`, { hook_id: id }),
  /** Lists the newest deliveries. */
  webhookDeliveries: (id: number, options: ReadOptions) =>
    read<WebhookDelivery[]>(`GET ${webhook}/deliveries`, { ...options, hook_id: id }),
  webhookDelivery: (id: number, deliveryId: number, options: ReadOptions) =>
    read<FullWebhookDelivery>(`GET ${delivery}`, {
      ...options,
      hook_id: id,
      delivery_id: deliveryId,
    }),
  redeliver: (id: number, deliveryId: number) =>
    change<object>(`POST ${delivery}/attempts`, { hook_id: id, delivery_id: deliveryId }),
})

/** Operations of site admins on the resources of every account. */
const adminOperations = ({ read, change }: Calls) => ({
  cancelAny: (id: number) =>
    change<Summary>(`POST ${ADMIN_PATHS.migration}/cancel`, { migration_id: id }),
  retryAny: (id: number) =>
    change<Summary>(`POST ${ADMIN_PATHS.migration}/retry`, { migration_id: id }),
  deleteAnyArchive: (id: number) =>
    change<void>(`DELETE ${ADMIN_PATHS.migration}/archive`, { migration_id: id }),
  releaseAny(fullName: string) {
    const [owner, name] = fullName.split('/')
    return change<void>(`DELETE ${ADMIN_PATHS.lock}`, { owner, name })
  },
  tokens: (options: ReadOptions) => read<Token[]>(`GET ${ADMIN_PATHS.tokens}`, options),
  revokeAny: (id: number) => change<void>(`DELETE ${ADMIN_PATHS.token}`, { token_id: id }),

  service: (period: Period, options: ReadOptions) =>
    read<ServiceState>(`GET ${ADMIN_PATHS.service}`, { ...options, period }),
})

/** The client of visitors who are not signed in: it reads public resources. */
export const anonymousApi: Api = createApi('application/json', () => {})()
