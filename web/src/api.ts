import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { readEvents, type ServerEvent } from '../../src/wire/event-stream.ts'
import { type Calls, callsOf, type PageOptions, type ReadOptions } from './api-calls.ts'
import type {
  ArchiveLink,
  Branch,
  Forecast,
  FullRepository,
  FullWebhookDelivery,
  HeldLock,
  Lock,
  Migration,
  OrganizationMembership,
  Period,
  Progress,
  Repository,
  RetryForecast,
  RetryRequest,
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
  User,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookRequest,
} from './wire.ts'

export type Api = ReturnType<typeof operationsOf>

/** The operations on one's own migrations, or on those of an organization. */
export type ApiOf = (org?: string) => Api

/** Where the API has them. */
export const migrationsPath = (org: string | undefined): string =>
  org === undefined ? '/user/migrations' : `/orgs/${org}/migrations`

export const webhooksPath = (org: string | undefined): string =>
  org === undefined ? '/user/hooks' : `/orgs/${org}/hooks`

/** Where this page came from is where the API is. */
export const API_ADDRESS = new URL('.', location.href).href.replace(/\/$/, '')

/** The media type to ask for: its vendor is the operator's choice, so the server is asked. */
export async function mediaTypeOf(address = API_ADDRESS): Promise<string> {
  const octokit = new Octokit({ baseUrl: address })
  const headers = { accept: 'application/json' }
  const { data } = await octokit.request('GET /', { headers })
  return (data as unknown as { media_type: string }).media_type
}

/** Of our own pages: no other site can make a browser send it. */
const OF_OUR_PAGES = { 'x-godwit-session': '1' }

/** Who is signed in with this browser, if anyone is. The cookie that tells is not for scripts. */
export async function currentSession(signal: AbortSignal): Promise<User | null> {
  const octokit = new Octokit({ baseUrl: API_ADDRESS })
  const asked = { headers: { ...OF_OUR_PAGES }, request: { signal } }
  const { data } = await octokit.request('GET /session', asked)
  return (data as Session).user
}

/** The token is sent once, for a cookie, and then forgotten. */
export async function openSession(token: string, signal: AbortSignal): Promise<User> {
  const octokit = new Octokit({ baseUrl: API_ADDRESS })
  const asked = { token, headers: { ...OF_OUR_PAGES }, request: { signal } }
  const { data } = await octokit.request('POST /session', asked)
  return (data as Session).user!
}

export async function closeSession(): Promise<void> {
  const octokit = new Octokit({ baseUrl: API_ADDRESS })
  await octokit.request('DELETE /session', { headers: { ...OF_OUR_PAGES } })
}

/** Everything the pages ask of the server: the public API, through Octokit. The same organization has the same one. */
export function createApi(mediaType: string, onUnauthorized: () => void): ApiOf {
  const octokit = new (Octokit.plugin(paginateRest))({ baseUrl: API_ADDRESS })
  octokit.hook.before('request', ({ headers }) => void Object.assign(headers, OF_OUR_PAGES))
  octokit.hook.error('request', (error) => {
    if ('status' in error && error.status === 401) onUnauthorized()
    throw error
  })
  const made = new Map<string | undefined, Api>()
  return (org) => {
    const api = made.get(org) ?? operationsOf(octokit, mediaType, org)
    made.set(org, api)
    return api
  }
}

function operationsOf(
  octokit: Octokit & ReturnType<typeof paginateRest>,
  mediaType: string,
  org: string | undefined,
) {
  const calls = callsOf(octokit, mediaType)
  return {
    ...aboutCaller(calls),
    ...onRepositories(calls, org === undefined ? '/user/repos' : `/orgs/${org}/repos`),
    ...onMigrations(calls, migrationsPath(org)),
    ...onSchedules(calls, migrationsPath(org)),
    ...onWebhooks(calls, webhooksPath(org)),
    ...forOperators(calls),
  }
}

const aboutCaller = ({ read, readAll }: Calls) => ({
  /** Logins of the organizations that the caller owns. */
  async ownedOrganizations(signal: AbortSignal): Promise<string[]> {
    const keep = (each: OrganizationMembership) => each
    const all = await readAll('/user/memberships/orgs', { signal }, keep)
    const owned = all.filter(({ role }) => role === 'admin')
    return owned.map(({ organization }) => organization.login)
  },
  ownLocks: (options: ReadOptions) => read<HeldLock[]>('GET /user/locks', options),
})

const onRepositories = ({ read, readAnew, readAll }: Calls, repositories: string) => ({
  repository: (fullName: string, options: ReadOptions) =>
    read<FullRepository>(`GET /repos/${fullName}`, options),
  branches: (fullName: string, options: ReadOptions) =>
    read<Branch[]>(`GET /repos/${fullName}/branches`, options),
  tags: (fullName: string, options: ReadOptions) =>
    read<Tag[]>(`GET /repos/${fullName}/tags`, options),
  repositories: ({ q, page, perPage, ...options }: PageOptions & { q: string }) =>
    readAnew<Repository[]>(`GET ${repositories}`, {
      ...options,
      page,
      per_page: perPage,
      q,
      sort: 'full_name',
    }),
  /** Every name that matches, however many pages that takes. */
  repositoryNames: (q: string, signal: AbortSignal) =>
    readAll(repositories, { q, signal }, ({ full_name }: Repository) => full_name),
})

const onMigrations = ({ read, readAnew, openStream, change }: Calls, migrations: string) => ({
  summaries: ({ page, perPage, ...options }: PageOptions) =>
    read<Summary[]>(`GET ${migrations}/summaries`, { ...options, page, per_page: perPage }),
  /** Those that a repository is in. */
  summariesOf: (fullName: string, options: ReadOptions) =>
    read<Summary[]>(`GET ${migrations}/summaries`, { ...options, repository: fullName }),
  summary: (id: number, options: ReadOptions) =>
    read<Summary>(`GET ${migrations}/{id}/summary`, { ...options, id }),
  progress: (id: number, options: ReadOptions) =>
    read<Progress>(`GET ${migrations}/{id}/progress`, { ...options, id }),
  locks: (id: number, options: ReadOptions) =>
    read<Lock[]>(`GET ${migrations}/{id}/locks`, { ...options, id }),
  /** Told as it goes. Ends when the server has told everything, or goes away. */
  async progressEvents(
    id: number,
    lastEventId: string,
    signal: AbortSignal,
    onHeard: () => void,
  ): Promise<AsyncIterable<ServerEvent>> {
    const headers = { accept: 'text/event-stream', 'last-event-id': lastEventId }
    const bytes = await openStream(`GET ${migrations}/{id}/progress`, headers, { id, signal })
    return readEvents(bytes, onHeard)
  },

  forecast: (asked: StartRequest, signal: AbortSignal) =>
    change<Forecast>(`POST ${migrations}/preflight`, { ...asked, signal }),
  start: (asked: StartRequest) =>
    change<Migration>(`POST ${migrations}`, { ...asked, exclude: ['repositories'] }),
  retryForecast: async (id: number) =>
    (await readAnew<RetryForecast>(`GET ${migrations}/{id}/retry`, { id })).data,
  retry: (id: number, asked: RetryRequest = {}) =>
    change<Migration>(`POST ${migrations}/{id}/retry`, { id, ...asked }),
  cancel: (id: number) => change<Migration>(`POST ${migrations}/{id}/cancel`, { id }),
  deleteArchive: (id: number) => change<void>(`DELETE ${migrations}/{id}/archive`, { id }),
  unlock: (id: number, name: string) =>
    change<void>(`DELETE ${migrations}/{id}/repos/{name}/lock`, { id, name }),

  /** A link that anyone may follow for a few minutes: to be followed at once, never shown or kept. */
  archiveLink: async (id: number) =>
    (await readAnew<ArchiveLink>(`GET ${migrations}/{id}/archive/link`, { id })).data,
})

const onSchedules = ({ read, change }: Calls, migrations: string) => ({
  schedules: ({ page, perPage, ...options }: PageOptions) =>
    read<Schedule[]>(`GET ${migrations}/schedules`, { ...options, page, per_page: perPage }),
  schedule: (id: number, options: ReadOptions) =>
    read<Schedule>(`GET ${migrations}/schedules/{id}`, { ...options, id }),
  scheduleRuns: (id: number, options: ReadOptions) =>
    read<ScheduleRun[]>(`GET ${migrations}/schedules/{id}/runs`, { ...options, id }),
  addSchedule: (asked: ScheduleRequest) =>
    change<Schedule>(`POST ${migrations}/schedules`, { ...asked }),
  changeSchedule: (id: number, asked: ScheduleChange) =>
    change<Schedule>(`PATCH ${migrations}/schedules/{id}`, { id, ...asked }),
  deleteSchedule: (id: number) => change<void>(`DELETE ${migrations}/schedules/{id}`, { id }),
  releaseArchive: (id: number, migration: number) =>
    change<void>(`DELETE ${migrations}/schedules/{id}/protected-archives/{migration}`, {
      id,
      migration,
    }),
  runSchedule: (id: number) =>
    change<ScheduleRun>(`POST ${migrations}/schedules/{id}/runs`, { id }),
})

const onWebhooks = ({ read, change }: Calls, webhooks: string) => ({
  webhooks: (options: ReadOptions) =>
    read<Webhook[]>(`GET ${webhooks}`, { ...options, per_page: 100 }),
  webhook: (id: number, options: ReadOptions) =>
    read<Webhook>(`GET ${webhooks}/{id}`, { ...options, id }),
  addWebhook: (asked: WebhookRequest) =>
    change<Webhook>(`POST ${webhooks}`, { name: 'web', ...asked }),
  changeWebhook: (id: number, asked: WebhookChange) =>
    change<Webhook>(`PATCH ${webhooks}/{id}`, { id, ...asked }),
  deleteWebhook: (id: number) => change<void>(`DELETE ${webhooks}/{id}`, { id }),
  pingWebhook: (id: number) => change<void>(`POST ${webhooks}/{id}/pings`, { id }),
  /** The newest. */
  webhookDeliveries: (id: number, options: ReadOptions) =>
    read<WebhookDelivery[]>(`GET ${webhooks}/{id}/deliveries`, { ...options, id }),
  webhookDelivery: (id: number, delivery: number, options: ReadOptions) =>
    read<FullWebhookDelivery>(`GET ${webhooks}/{id}/deliveries/{delivery}`, {
      ...options,
      id,
      delivery,
    }),
  redeliver: (id: number, delivery: number) =>
    change<object>(`POST ${webhooks}/{id}/deliveries/{delivery}/attempts`, { id, delivery }),
})

/** On anyone's. */
const forOperators = ({ read, change }: Calls) => ({
  cancelAny: (id: number) => change<Summary>('POST /admin/migrations/{id}/cancel', { id }),
  retryAny: (id: number) => change<Summary>('POST /admin/migrations/{id}/retry', { id }),
  deleteAnyArchive: (id: number) => change<void>('DELETE /admin/migrations/{id}/archive', { id }),
  releaseAny(fullName: string) {
    const [owner, name] = fullName.split('/')
    return change<void>('DELETE /admin/locks/{owner}/{name}', { owner, name })
  },
  tokens: (options: ReadOptions) => read<Token[]>('GET /admin/tokens', options),
  revokeAny: (id: number) => change<void>('DELETE /admin/tokens/{id}', { id }),

  service: (period: Period, options: ReadOptions) =>
    read<ServiceState>('GET /admin/service', { ...options, period }),
})

/** For those who are not signed in: what is public. */
export const anonymousApi: Api = createApi('application/json', () => {})()
