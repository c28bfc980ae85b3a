import { Octokit } from '@octokit/core'
import { paginateRest } from '@octokit/plugin-paginate-rest'
import { arrayOf, matches, type Schema, type Static } from '../wire/schema.ts'
import { notThisApi } from './errors.ts'
import { explainError, type FailedRequest } from './explain-error.ts'
import type { RequestOptions, Server } from './send-request.ts'
import { requestSender, type Send } from './send-request.ts'

const MAX_PER_PAGE = 100
export const PLAIN_TEXT = 'text/plain'

export type ErrorContext = Omit<FailedRequest, 'url'>

/** Sends requests, checks the shape of the responses, and converts errors to messages for people. */
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

  /** Reads all pages of a list. */
  all<S extends Schema>(
    route: string,
    parameters: object,
    context: ErrorContext,
    schema: S,
  ): Promise<Static<S>[]> {
    return this.#explain(context, async () => {
      const page = { per_page: MAX_PER_PAGE, ...parameters }
      const items: Static<S>[] = []
      try {
        for await (const { data } of this.#octokit.paginate.iterator(route, page))
          for (const item of this.checked(data, arrayOf(schema))) items.push(item)
      } catch (error) {
        // Octokit throws a bare TypeError for a page of unexpected shape.
        throw error instanceof TypeError && !error.cause ? notThisApi(this.#url) : error
      }
      return items
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
