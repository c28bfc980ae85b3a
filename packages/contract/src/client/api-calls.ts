import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { arrayOf, matches, type Schema, type Static } from '../schemas/schema.ts'
import { explainError, type FailedRequest, notThisApi, ServerUnreachable } from './errors.ts'
import { type ApiPaths, pathsOf } from './paths.ts'
import { type RequestOptions, requestSender, type Send, type Server } from './send-request.ts'

const MAX_PER_PAGE = 100
export const PLAIN_TEXT = 'text/plain'

/** The path of a request with its parameters, and how to explain its rejection. */
export type Resource = Omit<FailedRequest, 'url'> & { path: string; parameters?: object }

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** Sends requests, checks the shape of the responses, and converts errors to messages for people. */
export class ApiCalls {
  readonly server: Server
  readonly paths: ApiPaths
  readonly send: Send
  readonly #octokit: ReturnType<typeof createOctokit>

  constructor(server: Server, options: RequestOptions) {
    this.server = server
    this.paths = pathsOf(server.org)
    this.send = requestSender(server, options)
    this.#octokit = createOctokit(server, this.send)
  }

  /** The `--org` option for a command that a message suggests. */
  get orgFlag(): string {
    return this.server.org === undefined ? '' : ` --org ${this.server.org}`
  }

  /** Returns the message for a resource that the caller or the organization does not have. */
  notFoundMessage(resource: string): string {
    return `${this.server.url} has no ${resource} for ${this.server.org ?? 'this account'}`
  }

  async call<S extends Schema>(method: Method, resource: Resource, schema: S, body?: object) {
    const { data } = await this.request(method, resource, body)
    return this.validate(data, schema)
  }

  listAll<S extends Schema>(resource: Resource, schema: S): Promise<Static<S>[]> {
    return this.#explain(resource, async () => {
      const page = { per_page: MAX_PER_PAGE, ...resource.parameters }
      const items: Static<S>[] = []
      try {
        const pages = this.#octokit.paginate.iterator(`GET ${resource.path}`, page)
        for await (const { data } of pages)
          for (const item of this.validate(data, arrayOf(schema))) items.push(item)
      } catch (error) {
        // Octokit throws a bare TypeError for a page of unexpected shape.
        throw error instanceof TypeError && !error.cause ? notThisApi(this.server.url) : error
      }
      return items
    })
  }

  /** `body` may also contain `headers` and `request`, the options of Octokit. */
  request(method: Method, resource: Resource, body?: object) {
    const parameters = { ...resource.parameters, ...body }
    return this.#explain(resource, () =>
      this.#octokit.request(`${method} ${resource.path}`, parameters),
    )
  }

  validate<S extends Schema>(data: unknown, schema: S): Static<S> {
    if (matches(schema, data)) return data
    throw notThisApi(this.server.url)
  }

  async #explain<T>(resource: Resource, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      throw explainError(error, { ...resource, url: this.server.url })
    }
  }
}

function createOctokit({ url, vendor, userAgent }: Server, send: Send) {
  const api = new (Octokit.plugin(paginateRest))({
    baseUrl: url,
    userAgent,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    request: { fetch: withWholeBodies(send, url) },
  })
  api.hook.after('request', ({ status, data }, { method }) => {
    // Pagination takes an empty body for an empty list.
    if (method === 'GET' && status < 300 && !data) throw notThisApi(url)
  })
  api.hook.before('request', ({ headers }) => {
    if (headers.accept !== PLAIN_TEXT)
      headers.accept = `application/vnd.${vendor}.wyandotte-preview+json`
  })
  return api
}

/** No response of this API is nearly as long. */
const MAX_BODY_BYTES = 256 * 1024 * 1024
/** An error may have a message for each of many repositories. */
const MAX_ERROR_BYTES = 16 * 1024 * 1024

/**
 * Returns a `fetch` that reads the body up to a limit, and rejects if that of a success breaks off: Octokit would take it for an
 * empty one.
 */
const withWholeBodies =
  (send: Send, url: string): Send =>
  async (input, init) => {
    const response = await send(input, init)
    // With a manual redirect, the body may be a whole archive.
    const isArchive = init?.redirect === 'manual' && response.status < 400
    if (!response.body || isArchive) return response
    return new Response(await readBody(response.body, response.ok, url), response)
  }

async function readBody(body: ReadableStream<Uint8Array>, isSuccess: boolean, url: string) {
  const chunks: Uint8Array[] = []
  const limit = isSuccess ? MAX_BODY_BYTES : MAX_ERROR_BYTES
  let size = 0
  try {
    for await (const chunk of body) {
      size += chunk.length
      if (size > limit) throw notThisApi(url)
      chunks.push(chunk)
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // The status of an error says enough without the rest of its body.
    if (isSuccess) throw new ServerUnreachable(url, error)
  }
  return Buffer.concat(chunks)
}
