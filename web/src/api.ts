import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { type ServerEvent, serverEvents } from './event-stream.ts'
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
} from './wire.ts'

/** A read, and the validator that tells the next one whether anything has changed. */
export interface Answer<T> {
  data: T
  etag: string | undefined
  /** How many there are in all, where the answer is a page of them. */
  total: number
}

/** What was read before is still so. */
export const UNCHANGED = Symbol('unchanged')

export type ReadOptions = {
  signal?: AbortSignal
  /** The validator of what is known already; the answer is then `UNCHANGED` while it is so. */
  etag?: string | undefined
}

export type PageOptions = ReadOptions & {
  page: number
  perPage: number
}

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

/** For those who are not signed in: what is public. */
export const anonymousApi: Api = createApi('application/json', () => {})()

function operationsOf(
  octokit: Octokit & ReturnType<typeof paginateRest>,
  mediaType: string,
  org: string | undefined,
) {
  const accept = { accept: mediaType }
  const migrations = migrationsPath(org)
  const webhooks = webhooksPath(org)
  const repositories = org === undefined ? '/user/repos' : `/orgs/${org}/repos`

  async function read<T>(
    route: string,
    { signal, etag, ...parameters }: ReadOptions & Record<string, unknown>,
  ): Promise<Answer<T> | typeof UNCHANGED> {
    const headers = { ...accept, ...(etag !== undefined && { 'if-none-match': etag }) }
    try {
      const request = { ...(signal && { signal }) }
      const answer = await octokit.request(route, { ...parameters, headers, request })
      const total = Number(answer.headers['x-total-count'] ?? Number.NaN)
      return { data: answer.data as T, etag: answer.headers.etag, total }
    } catch (error) {
      if (isStatus(error, 304)) return UNCHANGED
      throw error
    }
  }

  /** A read that brings no validator is always answered in full. */
  async function readAnew<T>(route: string, options: ReadOptions & Record<string, unknown>) {
    const answer = await read<T>(route, { ...options, etag: undefined })
    if (answer === UNCHANGED) throw new Error('answered 304 to an unconditional request')
    return answer
  }

  async function change<T>(route: string, parameters: Record<string, unknown>): Promise<T> {
    const { data } = await octokit.request(route, { ...parameters, headers: accept })
    return data as T
  }

  return {
    user: async (options: ReadOptions = {}) => (await readAnew<User>('GET /user', options)).data,
    /** Logins of the organizations that the caller owns. */
    async ownedOrganizations(options: ReadOptions = {}): Promise<string[]> {
      const asked = { ...options, per_page: 100 }
      const { data } = await readAnew<OrganizationMembership[]>('GET /user/memberships/orgs', asked)
      const owned = data.filter(({ role }) => role === 'admin')
      return owned.map(({ organization }) => organization.login)
    },

    summaries: ({ page, perPage, ...options }: PageOptions) =>
      read<Summary[]>(`GET ${migrations}/summaries`, { ...options, page, per_page: perPage }),
    /** Those that a repository is in. */
    summariesOf: (fullName: string, options: ReadOptions) =>
      read<Summary[]>(`GET ${migrations}/summaries`, { ...options, repository: fullName }),
    repository: (fullName: string, options: ReadOptions) =>
      read<FullRepository>(`GET /repos/${fullName}`, options),
    branches: (fullName: string, options: ReadOptions) =>
      read<Branch[]>(`GET /repos/${fullName}/branches`, options),
    tags: (fullName: string, options: ReadOptions) =>
      read<Tag[]>(`GET /repos/${fullName}/tags`, options),
    summary: (id: number, options: ReadOptions) =>
      read<Summary>(`GET ${migrations}/{id}/summary`, { ...options, id }),
    progress: (id: number, options: ReadOptions) =>
      read<Progress>(`GET ${migrations}/{id}/progress`, { ...options, id }),
    ownLocks: (options: ReadOptions) => read<HeldLock[]>('GET /user/locks', options),
    locks: (id: number, options: ReadOptions) =>
      read<Lock[]>(`GET ${migrations}/{id}/locks`, { ...options, id }),

    /** Told as it goes. Ends when the server has told everything, or goes away. */
    async progressEvents(
      id: number,
      lastEventId: string,
      signal: AbortSignal,
    ): Promise<AsyncIterable<ServerEvent>> {
      const { data } = await octokit.request(`GET ${migrations}/{id}/progress`, {
        id,
        headers: { accept: 'text/event-stream', 'last-event-id': lastEventId },
        request: { signal, parseSuccessResponseBody: false },
      })
      return serverEvents(data as ReadableStream<Uint8Array<ArrayBuffer>>)
    },

    repositories: ({ q, page, perPage, ...options }: PageOptions & { q: string }) =>
      readAnew<Repository[]>(`GET ${repositories}`, {
        ...options,
        page,
        per_page: perPage,
        q,
        sort: 'full_name',
      }),
    /** Every name that matches, however many pages that takes. */
    async repositoryNames(q: string, signal: AbortSignal): Promise<string[]> {
      return octokit.paginate<Repository, string>(
        {
          method: 'GET',
          url: repositories,
          q,
          per_page: 100,
          headers: accept,
          request: { signal },
        },
        ({ data }) => data.map(({ full_name }) => full_name),
      )
    },

    async forecast(asked: StartRequest, signal: AbortSignal): Promise<Forecast> {
      const { data } = await octokit.request(`POST ${migrations}/preflight`, {
        ...asked,
        headers: accept,
        request: { signal },
      })
      return data as Forecast
    },
    start: (asked: StartRequest) =>
      change<Migration>(`POST ${migrations}`, { ...asked, exclude: ['repositories'] }),
    retryForecast: async (id: number) =>
      (await readAnew<RetryForecast>(`GET ${migrations}/{id}/retry`, { id })).data,
    retry: (id: number, asked: { allow_partial?: boolean } = {}) =>
      change<Migration>(`POST ${migrations}/{id}/retry`, { id, ...asked }),
    cancel: (id: number) => change<Migration>(`POST ${migrations}/{id}/cancel`, { id }),
    deleteArchive: (id: number) => change<void>(`DELETE ${migrations}/{id}/archive`, { id }),
    unlock: (id: number, name: string) =>
      change<void>(`DELETE ${migrations}/{id}/repos/{name}/lock`, { id, name }),

    /** A link that anyone may follow for a few minutes: to be followed at once, never shown or kept. */
    archiveLink: async (id: number) =>
      (await readAnew<ArchiveLink>(`GET ${migrations}/{id}/archive/link`, { id })).data,

    schedules: (options: ReadOptions) =>
      read<Schedule[]>(`GET ${migrations}/schedules`, { ...options, per_page: 100 }),
    schedule: (id: number, options: ReadOptions) =>
      read<Schedule>(`GET ${migrations}/schedules/{id}`, { ...options, id }),
    scheduleRuns: (id: number, options: ReadOptions) =>
      read<ScheduleRun[]>(`GET ${migrations}/schedules/{id}/runs`, { ...options, id }),
    addSchedule: (asked: ScheduleRequest) =>
      change<Schedule>(`POST ${migrations}/schedules`, { ...asked }),
    changeSchedule: (id: number, asked: ScheduleChange) =>
      change<Schedule>(`PATCH ${migrations}/schedules/{id}`, { id, ...asked }),
    deleteSchedule: (id: number) => change<void>(`DELETE ${migrations}/schedules/{id}`, { id }),
    runSchedule: (id: number) =>
      change<ScheduleRun>(`POST ${migrations}/schedules/{id}/runs`, { id }),

    webhooks: (options: ReadOptions) =>
      read<Webhook[]>(`GET ${webhooks}`, { ...options, per_page: 100 }),
    webhook: (id: number, options: ReadOptions) =>
      read<Webhook>(`GET ${webhooks}/{id}`, { ...options, id }),
    addWebhook: (asked: WebhookChange) =>
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

    /** Of anyone's, for operators. */
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
  }
}

function isStatus(error: unknown, status: number): boolean {
  return error instanceof Error && 'status' in error && error.status === status
}
