import { endOfHunk } from '@godwit/archive/records/diff-hunk'
import { HostNotFound } from '../host-errors.ts'
import { type ApiClient, type ApiResponse, HttpClient, type Query } from '../http/http-client.ts'
import type { HttpResponse } from '../http/http-response.ts'
import type { Json } from '../http/json-fields.ts'
import * as json from '../http/json-fields.ts'

/** GitHub has nothing like these, or only for administrators and in another form. */
const NOT_ON_GITHUB = /^\/orgs\/|^\/repos\/[^/]+\/[^/]+\/(?:branch_protections|teams)$/

/**
 * Sends requests to GitHub. Gitea's API was modelled on GitHub's, so the same reader reads both; this class gives it the paths and
 * responses that differ in Gitea's form.
 */
export class GitHubClient extends HttpClient implements ApiClient {
  /** The paths of issues and comments that have no reactions, so that no request for them is needed. */
  readonly #withoutReactions = new Set<string>()
  /** The ids of review comments, whose reactions have another address than those of other comments. */
  readonly #reviewComments = new Set<number>()
  /** The API paths of release assets by the path that a forge would have, with the UUID that this class gives them. */
  readonly #assets = new Map<string, string>()

  /** GitHub marks the errors of its API, so that no request is needed to trust a 404. */
  probe = async () => {}

  override async get(path: string, query: Query, signal: AbortSignal): Promise<ApiResponse> {
    if (NOT_ON_GITHUB.test(path))
      throw new HostNotFound(404, `GitHub has no ${path}`, { isFromApi: true, retryAt: 0 })
    const [, repository = '', part = ''] = /^(\/repos\/[^/]+\/[^/]+)\/?(.*)$/.exec(path) ?? []
    const reacted = /^(.+)\/reactions$/.exec(part)?.[1]
    if (reacted !== undefined && this.#withoutReactions.has(`${repository}/${reacted}`))
      return { body: [], header: () => undefined }
    // On GitHub, the type of an issue is something else.
    const { limit, type: _, ...rest } = query
    const sent = limit === undefined ? rest : { ...rest, per_page: limit }
    const response = await super.get(this.#addressOf(path), sent, signal)
    const convert = (value: unknown) => this.#convert(json.objectOf(value), repository, part)
    const { body } = response
    return { ...response, body: Array.isArray(body) ? body.map(convert) : convert(body) }
  }

  override download(path: string, signal: AbortSignal, accept?: string): Promise<HttpResponse> {
    return super.download(this.#assets.get(path) ?? path, signal, accept)
  }

  #addressOf(path: string): string {
    const id = Number(/\/issues\/comments\/(\d+)\/reactions$/.exec(path)?.[1])
    return this.#reviewComments.has(id)
      ? path.replace('/issues/comments/', '/pulls/comments/')
      : path
  }

  #convert(entry: Json, repository: string, part: string): Json {
    const id = json.integer(entry, 'id')
    const noteReactions = (path: string) => {
      if (json.object(entry, 'reactions')?.total_count === 0)
        this.#withoutReactions.add(`${repository}/${path}`)
    }
    if (part === '')
      return { ...entry, website: entry.homepage, empty: entry.size === 0, internal: false }
    if (part === 'topics') return { topics: entry.names }
    if (part === 'milestones') return { ...entry, id: entry.number }
    if (part === 'releases') return { ...entry, assets: this.#assetsOf(entry) }
    if (/^(?:issues|pulls)(?:\/\d+)?$/.test(part)) {
      const milestone = json.object(entry, 'milestone')
      if (part.startsWith('issues')) noteReactions(`issues/${entry.number}`)
      return {
        ...entry,
        is_locked: entry.locked,
        merged: typeof entry.merged_at === 'string',
        milestone: milestone && { ...milestone, id: milestone.number },
      }
    }
    if (/^issues\/\d+\/comments$/.test(part)) noteReactions(`issues/comments/${id}`)
    if (/\/reviews$/.test(part)) {
      const state = json.string(entry, 'state')
      return { ...entry, state: STATES[state] ?? state, dismissed: state === 'DISMISSED' }
    }
    if (/\/reviews\/\d+\/comments$/.test(part)) {
      this.#reviewComments.add(id)
      noteReactions(`issues/comments/${id}`)
      return { ...entry, ...lineOf(entry) }
    }
    return entry
  }

  /** Gives assets a UUID, because GitHub's have only a number, and notes the API path of their bytes. */
  #assetsOf(release: Json): Json[] {
    return json.objects(release, 'assets').map((asset) => {
      const uuid = `00000000-0000-4000-8000-${json.integer(asset, 'id').toString(16).padStart(12, '0')}`
      const { pathname } = new URL(json.string(asset, 'url') || '/', this.url)
      this.#assets.set(`/attachments/${uuid}`, pathname)
      return { ...asset, uuid }
    })
  }
}

const STATES: Readonly<Record<string, string>> = {
  COMMENTED: 'COMMENT',
  CHANGES_REQUESTED: 'REQUEST_CHANGES',
  DISMISSED: 'COMMENT',
}

/** Returns the positions as Gitea has them: lines of the new and the old file. Those of GitHub are lines of the diff. */
function lineOf(comment: Json): Json {
  const { side, line } = endOfHunk(json.string(comment, 'diff_hunk')) ?? { side: 'right', line: 0 }
  return side === 'right'
    ? { position: line, original_position: 0 }
    : { position: 0, original_position: line }
}
