import { endOfHunk } from '../../../records/diff-hunk.ts'
import { ForgeNotFound } from '../../forge-errors.ts'
import { ForgeClient, type ForgeResponse, type Query } from './forge-client.ts'
import type { Json } from './forge-values.ts'
import * as json from './forge-values.ts'
import type { HttpResponse } from './http-response.ts'

/**
 * GitHub is read as this version of Gitea, because such a version is not asked for timelines and files of issues, which GitHub does not
 * have in Gitea's form.
 */
const AS_VERSION = '1.15.0'
const PAGE_SIZE = 100
/** GitHub has nothing like these, or only for administrators and in another form. */
const NOT_ON_GITHUB = /^\/orgs\/|^\/repos\/[^/]+\/[^/]+\/(?:branch_protections|teams)$/

/**
 * Reads GitHub as if it were a forge. Gitea's API was modelled on GitHub's, so most requests and responses are the same; this class
 * changes those that differ.
 */
export class GitHubClient extends ForgeClient {
  /** The paths of issues and comments that have no reactions, so that no request for them is needed. */
  readonly #withoutReactions = new Set<string>()
  /** The ids of review comments, whose reactions have another address than those of other comments. */
  readonly #reviewComments = new Set<number>()
  /** The API paths of release assets by the path that a forge would have, with the UUID that this class gives them. */
  readonly #assets = new Map<string, string>()

  override async get(path: string, query: Query, signal: AbortSignal): Promise<ForgeResponse> {
    if (path === '/version') return responseOf({ version: AS_VERSION })
    if (path === '/settings/api') return responseOf({ max_response_items: PAGE_SIZE })
    if (NOT_ON_GITHUB.test(path))
      throw new ForgeNotFound(404, `GitHub has no ${path}`, { isFromForge: true, retryAt: 0 })
    const [, repository = '', part = ''] = /^(\/repos\/[^/]+\/[^/]+)\/?(.*)$/.exec(path) ?? []
    const reacted = /^(.+)\/reactions$/.exec(part)?.[1]
    if (reacted !== undefined && this.#withoutReactions.has(`${repository}/${reacted}`))
      return responseOf([])
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

const responseOf = (body: unknown): ForgeResponse => ({ body, header: () => undefined })
