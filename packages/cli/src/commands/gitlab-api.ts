import { setTimeout as sleep } from 'node:timers/promises'
import {
  asTemporaryError,
  busyErrorOf,
  RequestRejected,
  retryPause,
  ServerError,
} from '@godwit/contract/client/errors'
import {
  type RequestOptions,
  requestSender,
  type Send,
  type Server,
} from '@godwit/contract/client/send-request'
import { UserError } from '@godwit/lib/user-error'

export interface GitLabProject {
  id: number
  /** The path with all groups, such as `group/subgroup/project`. */
  path: string
}

interface GitLabOptions extends RequestOptions {
  /** Called before a retry. */
  onError(error: Error): void
}

const MAX_RETRIES = 5
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 15_000
/** How long an export may wait for a free worker: until one takes it, it has no status. */
const MAX_WAIT_FOR_WORKER_MS = 30 * 60_000
const MAX_BODY_BYTES = 32 * 1024 * 1024
/** `with_shared=false` leaves out projects of other groups that are only shared with this one. */
const GROUP_QUERY =
  '?include_subgroups=true&with_shared=false&order_by=id&sort=asc&simple=true&per_page=100'
const RUNNING_STATES = new Set(['queued', 'started', 'regeneration_in_progress'])

/** The part of GitLab's REST API (v4) that makes project exports. It can be passed to `downloadArchive`. */
export class GitLabApi {
  readonly server: Pick<Server, 'url' | 'token' | 'userAgent'>
  readonly send: Send
  readonly #onError: GitLabOptions['onError']

  /** `server.url` is the address of the web pages, without a trailing slash. */
  constructor(server: GitLabApi['server'], options: GitLabOptions) {
    this.server = server
    this.send = requestSender(server, options)
    this.#onError = options.onError
  }

  /** Rejects if the server is not GitLab, or does not accept the token. */
  async check(signal: AbortSignal): Promise<void> {
    const { body } = await this.#call('/version', signal)
    if (typeof fieldOf(body, 'version') !== 'string') throw this.#notGitLab()
  }

  /** Returns the project with this path or ID, or all projects of the group with this path or ID and of its subgroups. */
  async findProjects(name: string, signal: AbortSignal): Promise<GitLabProject[]> {
    const id = encodeURIComponent(name)
    const project = await unlessMissing(this.#call(`/projects/${id}`, signal))
    if (project) return [this.#readProject(project.body)]
    const found: GitLabProject[] = []
    const requested = new Set<string>()
    for (let query: string | undefined = GROUP_QUERY; query !== undefined; ) {
      if (requested.has(query)) throw this.#notGitLab()
      requested.add(query)
      const page = await unlessMissing(this.#call(`/groups/${id}/projects${query}`, signal))
      if (!page)
        throw new RequestRejected(404, 'no such group or project, or the token may not read it')
      if (!Array.isArray(page.body)) throw this.#notGitLab()
      found.push(...page.body.map((each) => this.#readProject(each)))
      query = nextQuery(page.headers.get('link'))
    }
    return found
  }

  /**
   * Starts an export and waits until it can be downloaded. An export that is already running is used; a finished one only if
   * `canReuse`, because it may be old. GitLab removes the finished one when a new export is started.
   */
  async prepareExport(
    id: number,
    { canReuse, onState }: { canReuse: boolean; onState(state: string): void },
    signal: AbortSignal,
  ): Promise<void> {
    let state = await this.#exportState(id, signal)
    if (canReuse && state === 'finished') return
    let hasBegun = RUNNING_STATES.has(state)
    if (!hasBegun) await this.#call(`/projects/${id}/export`, signal, 'POST')
    const startedAt = performance.now()
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
      state = await this.#exportState(id, signal)
      if (state === 'finished') return
      onState(state)
      if (RUNNING_STATES.has(state)) hasBegun = true
      else if (hasBegun || state !== 'none')
        throw new UserError(`the server could not make the export (status ${state})`)
      else if (performance.now() - startedAt > MAX_WAIT_FOR_WORKER_MS)
        throw new UserError('the server has not started the export within 30 minutes')
      await sleep(pause, undefined, { signal })
    }
  }

  async archiveLink(id: number): Promise<URL> {
    return new URL(`${this.server.url}/api/v4/projects/${id}/export/download`)
  }

  async #exportState(id: number, signal: AbortSignal): Promise<string> {
    const { body } = await this.#call(`/projects/${id}/export`, signal)
    const state = fieldOf(body, 'export_status')
    if (typeof state !== 'string') throw this.#notGitLab()
    return state
  }

  async #call(path: string, signal: AbortSignal, method: 'GET' | 'POST' = 'GET') {
    for (let failures = 0; ; failures++)
      try {
        return await this.#attempt(path, signal, method)
      } catch (error) {
        signal.throwIfAborted()
        const outage = asTemporaryError(error, this.server.url)
        if (!outage || failures === MAX_RETRIES) throw outage ?? error
        this.#onError(outage)
        await sleep(retryPause(outage, FIRST_PAUSE_MS * 2 ** failures), undefined, { signal })
      }
  }

  async #attempt(path: string, signal: AbortSignal, method: 'GET' | 'POST') {
    const { url, userAgent } = this.server
    const response = await this.send(`${url}/api/v4${path}`, {
      method,
      signal,
      redirect: 'manual',
      headers: { accept: 'application/json', 'user-agent': userAgent },
    })
    const { status, headers } = response
    const body = await readJson(response)
    if (response.ok) {
      if (body === undefined) throw this.#notGitLab()
      return { body, headers }
    }
    const message = this.#messageIn(body)
    if (status === 429 || status >= 500)
      throw (
        busyErrorOf(response, url) ?? new ServerError(status, `${url} failed: ${status}${message}`)
      )
    if (status < 400)
      throw new RequestRejected(status, `${url} redirects API requests: ${CHECK_URL}`)
    if (status === 401)
      throw new RequestRejected(
        401,
        `${url} does not accept the token${message}: check --token-file`,
      )
    const advice = (method === 'POST' && START_ADVICE[status]) || ''
    throw new RequestRejected(status, `the server responded ${status}${message}${advice}`)
  }

  /** Returns the server's message in parentheses, or ''. A misconfigured server may repeat the token in it. */
  #messageIn(body: unknown): string {
    const reason = ['message', 'error_description', 'error']
      .map((key) => fieldOf(body, key))
      .find((each) => each !== undefined)
    if (reason === undefined) return ''
    const text = typeof reason === 'string' ? reason : JSON.stringify(reason)
    return ` (${text.replaceAll(this.server.token, '…').replace(/\s+/g, ' ').slice(0, 200)})`
  }

  #readProject(body: unknown): GitLabProject {
    const [id, path] = [fieldOf(body, 'id'), fieldOf(body, 'path_with_namespace')]
    if (!Number.isSafeInteger(id) || typeof path !== 'string') throw this.#notGitLab()
    return { id: id as number, path }
  }

  #notGitLab(): RequestRejected {
    return new RequestRejected(200, `${this.server.url} does not respond like GitLab: ${CHECK_URL}`)
  }
}

const CHECK_URL = 'check --url, the address of its web pages'
/** What to check if the server refuses to start an export, by the status of its response. */
const START_ADVICE: Record<number, string> = {
  403: ': an export takes the Maintainer or Owner role, and a token with the scope `api`',
  404: ': an administrator may have disabled exports',
}

const fieldOf = (body: unknown, key: string): unknown =>
  (body as Record<string, unknown> | null | undefined)?.[key]

async function unlessMissing<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response
  } catch (error) {
    if (error instanceof RequestRejected && error.status === 404) return undefined
    throw error
  }
}

/** Returns only the query of the link to the next page: behind a proxy, a server may have a wrong idea of its own address. */
function nextQuery(link: string | null): string | undefined {
  const [, next] = /<([^<>]*)>\s*;[^,<]*\brel="?next\b/.exec(link ?? '') ?? []
  return next === undefined ? undefined : URL.parse(next, 'http://localhost')?.search
}

/** Returns undefined if the body is not JSON, or too large. */
async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString())
  } catch {
    return undefined
  }
}
