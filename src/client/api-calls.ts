import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { arrayOf, matches, type Schema, type Static } from '../wire/schema.ts'
import { notThisApi } from './errors.ts'
import { explainError, type Request } from './explain-error.ts'
import { requestSender, type Send } from './send-request.ts'
import type { RequestOptions, Server } from './server.ts'

const MAX_PER_PAGE = 100
export const PLAIN_TEXT = 'text/plain'

/** What a refusal is to be told in terms of, beside the server's address. */
export type ErrorContext = Omit<Request, 'url'>

/** Calls a server's operations, checks the shape of its answers and explains its refusals. */
export class ApiCalls {
  readonly send: Send
  readonly #url: string
  readonly #octokit: ReturnType<typeof connect>

  constructor(server: Server, options: RequestOptions) {
    this.send = requestSender(server, options)
    this.#url = server.url
    this.#octokit = connect(server, this.send)
  }

  async one<S extends Schema>(
    route: string,
    parameters: object,
    context: ErrorContext,
    schema: S,
  ): Promise<Static<S>> {
    const { data } = await this.request(route, parameters, context)
    return this.checked(data, schema)
  }

  /** Of all pages. */
  all<S extends Schema>(
    route: string,
    parameters: object,
    context: ErrorContext,
    schema: S,
  ): Promise<Static<S>[]> {
    return this.#explain(context, async () => {
      const page = { per_page: MAX_PER_PAGE, ...parameters }
      const found: Static<S>[] = []
      try {
        for await (const { data } of this.#octokit.paginate.iterator(route, page))
          for (const each of this.checked(data, arrayOf(schema))) found.push(each)
      } catch (error) {
        // Octokit looks into an answer before we can.
        throw error instanceof TypeError && !error.cause ? notThisApi(this.#url) : error
      }
      return found
    })
  }

  request(route: string, parameters: object, context: ErrorContext) {
    return this.#explain(context, () => this.#octokit.request(route, { ...parameters }))
  }

  checked<S extends Schema>(data: unknown, schema: S): Static<S> {
    if (matches(schema, data)) return data
    throw notThisApi(this.#url)
  }

  async #explain<T>(context: ErrorContext, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      throw explainError(error, { url: this.#url, ...context })
    }
  }
}

function connect({ url, vendor, userAgent }: Server, send: Send) {
  const api = new (Octokit.plugin(paginateRest))({
    baseUrl: url,
    userAgent,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    request: { fetch: send },
  })
  api.hook.before('request', ({ headers }) => {
    if (headers.accept !== PLAIN_TEXT)
      headers.accept = `application/vnd.${vendor}.wyandotte-preview+json`
  })
  return api
}
