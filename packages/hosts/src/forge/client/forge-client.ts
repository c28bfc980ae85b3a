import { toForeignName } from '@godwit/lib/names'
import {
  type ApiClient,
  type ApiResponse,
  HttpClient,
  type HttpOptions,
  type Query,
} from '../../http/http-client.ts'
import { readVersion } from './forge-version.ts'

export interface ForgeOptions extends Omit<HttpOptions, 'apiPath'> {
  /** Whether the author of content from another host, whose name the forge stores only as text, replaces the account that imported it. */
  showsOriginalAuthors?: boolean
}

/** Sends requests to one Gitea or Forgejo, with one token. */
export class ForgeClient extends HttpClient implements ApiClient {
  readonly #showsOriginalAuthors: boolean

  constructor({ showsOriginalAuthors = false, ...options }: ForgeOptions) {
    super({ ...options, apiPath: '/api/v1' })
    this.#showsOriginalAuthors = showsOriginalAuthors
  }

  override async get(path: string, query: Query, signal: AbortSignal): Promise<ApiResponse> {
    const response = await super.get(path, query, signal)
    if (this.#showsOriginalAuthors) showOriginalAuthors(response.body)
    return response
  }

  probe = (signal: AbortSignal) => readVersion(this, signal)
}

/** Forgejo sends the original author of issues and comments. Those of reactions are accounts such as `bob(Git)` with the id -1. */
function showOriginalAuthors(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  const { original_author: original, user } = value as Record<string, unknown>
  const { id, login } = (user ?? {}) as Record<string, unknown>
  const reactor = id === -1 ? /^(.+)\([^()]*\)$/.exec(String(login))?.[1] : undefined
  const author = original || reactor
  if (typeof author === 'string')
    Object.assign(value, { user: { id: 0, login: toForeignName(author) ?? 'ghost' } })
  for (const each of Object.values(value)) showOriginalAuthors(each)
}
