import { createReadStream } from 'node:fs'
import { undefinedIfAbsent } from '../../sources/forge/client/confirm-absence.ts'
import { segment } from '../../sources/forge/client/forge-address.ts'
import { type Change, ForgeClient } from '../../sources/forge/client/forge-client.ts'
import { listAll, pagesOf } from '../../sources/forge/client/forge-pages.ts'
import {
  type JsonObject,
  objectIn,
  objectOf,
  objectsIn,
} from '../../sources/forge/client/forge-values.ts'
import { type ForgeVersion, isAtLeast } from '../../sources/forge/client/forge-version.ts'
import { readJson } from '../../sources/forge/client/http-response.ts'
import { knownForgeCache } from '../../sources/forge/client/known-forge.ts'
import { parseUser } from '../../sources/forge/forge-token.ts'
import { ForgeNotFound } from '../../sources/forge-errors.ts'

/**
 * The operations that not every version has: their path and method in the description of the server, and the first version of Gitea,
 * which decides if the server does not publish its description.
 */
const OPERATIONS = {
  issueFiles: ['/repos/{owner}/{repo}/issues/{index}/assets', 'post', [1, 19]],
  commentFiles: ['/repos/{owner}/{repo}/issues/comments/{id}/assets', 'post', [1, 19]],
  timeline: ['/repos/{owner}/{repo}/issues/{index}/timeline', 'get', [1, 16]],
  dependencies: ['/repos/{owner}/{repo}/issues/{index}/dependencies', 'post', [1, 20]],
  pins: ['/repos/{owner}/{repo}/issues/{index}/pin', 'post', [1, 20]],
  locks: ['/repos/{owner}/{repo}/issues/{index}/lock', 'put', [1, 24]],
} as const

export type Operation = keyof typeof OPERATIONS

/** Fields of requests since the first supported version. */
const OLD_PROTECTION_FIELDS = [
  'branch_name enable_push enable_push_whitelist push_whitelist_usernames push_whitelist_teams push_whitelist_deploy_keys',
  'enable_merge_whitelist merge_whitelist_usernames merge_whitelist_teams enable_status_check status_check_contexts',
  'required_approvals enable_approvals_whitelist approvals_whitelist_username approvals_whitelist_teams block_on_rejected_reviews',
  'block_on_official_review_requests block_on_outdated_branch dismiss_stale_approvals require_signed_commits protected_file_patterns',
].flatMap((names) => names.split(' '))

/** A file of the dump. */
interface FileToUpload {
  path: string
  name: string
  contentType: string
  bytes: number
}

/** The server that a move is finished on, used with one token. Every method rejects with ForgeUnavailable or ForgeRequestFailed. */
export class TargetServer {
  readonly version: ForgeVersion
  readonly #client: ForgeClient
  readonly #description: JsonObject | undefined
  readonly #pageSize: number
  readonly #lfsAuthorization: string
  readonly #users = new Map<string, Promise<boolean>>()

  private constructor(
    client: ForgeClient,
    known: { version: ForgeVersion; pageSize: number },
    description: JsonObject | undefined,
    lfsAuthorization: string,
  ) {
    this.version = known.version
    this.#client = client
    this.#description = description
    this.#pageSize = known.pageSize
    this.#lfsAuthorization = lfsAuthorization
  }

  /** Reads what the server is and can do. */
  static async connect(options: { url: string; token: string }, signal: AbortSignal) {
    const client = new ForgeClient(options)
    const known = await knownForgeCache(client)(signal)
    const { login } = parseUser((await client.get('/user', {}, signal)).body, client.url)
    const basic = Buffer.from(`${login}:${options.token}`).toString('base64')
    return new TargetServer(client, known, await describe(client, signal), `Basic ${basic}`)
  }

  get url(): string {
    return this.#client.url
  }

  can(operation: Operation): boolean {
    const [path, method, since] = OPERATIONS[operation]
    return this.#description
      ? objectIn(this.#pathItem(path), method) !== undefined
      : isAtLeast(this.version.gitea, since)
  }

  /** Returns whether the server lets the caller set the time of a change, as Forgejo does. */
  takesTime(what: Operation | 'EditIssueOption' | 'EditIssueCommentOption'): boolean {
    if (!(what in OPERATIONS)) return this.#fieldsOf(what)?.includes('updated_at') ?? false
    const [path, method] = OPERATIONS[what as Operation]
    const parameters = objectsIn(objectIn(this.#pathItem(path), method) ?? {}, 'parameters')
    return parameters.some(({ name }) => name === 'updated_at')
  }

  /** The fields of a branch protection that this version accepts. */
  protectionFields = (): readonly string[] =>
    this.#fieldsOf('CreateBranchProtectionOption') ??
    OLD_PROTECTION_FIELDS.concat(isAtLeast(this.version.gitea, [1, 19]) ? 'rule_name' : [])

  #pathItem = (path: string) =>
    objectIn(objectIn(this.#description ?? {}, 'paths') ?? {}, path) ?? {}

  #fieldsOf(definition: string): string[] | undefined {
    const definitions = objectIn(this.#description ?? {}, 'definitions')
    const properties = objectIn(objectIn(definitions ?? {}, definition) ?? {}, 'properties')
    return properties && Object.keys(properties)
  }

  /** Gets JSON below `/api/v1`, or undefined if it does not exist. */
  async find(path: string, signal: AbortSignal): Promise<JsonObject | undefined> {
    const request = () => this.#client.get(path, {}, signal)
    const found = await undefinedIfAbsent(this.#client, request, signal)
    return found && objectOf(found.body)
  }

  list = (path: string, signal: AbortSignal): Promise<JsonObject[]> =>
    listAll(this.#client, { path, limit: this.#pageSize, onMissing: () => {} }, signal)

  /** Yields every page of a list that may be too long for the memory. */
  pages = (path: string, query: Record<string, string>, signal: AbortSignal) =>
    pagesOf(this.#client, { path, query, limit: this.#pageSize }, signal)

  hasUser(login: string, signal: AbortSignal): Promise<boolean> {
    const known = this.#users.get(login)
    const found = known ?? this.find(`/users/${segment(login)}`, signal).then((user) => !!user)
    this.#users.set(login, found)
    return found
  }

  async write(
    method: Change['method'],
    path: string,
    json: object | undefined,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const change = { method, ...(json && { json }) }
    return objectOf(await this.#client.change(`/api/v1${path}`, change, signal))
  }

  /** Uploads a file as a form, and returns the attachment. */
  async upload(
    path: string,
    file: FileToUpload,
    query: Record<string, string>,
    signal: AbortSignal,
  ) {
    const boundary = `godwit-${crypto.randomUUID()}`
    // The name is in the query, because servers differ in how they decode it here.
    const head = Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="attachment"; filename="file"\r\ncontent-type: ${file.contentType.replace(/[^\x20-\x7e]/g, '')}\r\n\r\n`,
    )
    const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
    const open = async function* () {
      yield head
      yield* createReadStream(file.path)
      yield tail
    }
    const payload = { bytes: head.length + file.bytes + tail.length, open }
    const headers = { 'content-type': `multipart/form-data; boundary=${boundary}` }
    const search = new URLSearchParams({ name: file.name, ...query })
    const change = { method: 'POST' as const, payload, headers }
    return objectOf(await this.#client.change(`/api/v1${path}?${search}`, change, signal))
  }

  /** Yields the bytes of an attachment. */
  openAttachment = async (uuid: string, signal: AbortSignal) =>
    (await this.#client.download(`/attachments/${segment(uuid)}`, signal)).body

  /** Sends a request of git-lfs to a repository. */
  async lfs(
    fullName: string,
    path: string,
    json: object,
    signal: AbortSignal,
  ): Promise<JsonObject> {
    const headers = {
      ...{ accept: LFS_TYPE, 'content-type': LFS_TYPE, authorization: this.#lfsAuthorization },
    }
    const target = `/${fullName}.git/info/lfs/${path}`
    return objectOf(await this.#client.change(target, { method: 'POST', json, headers }, signal))
  }

  /**
   * Uploads the file of an LFS object to the URL that the server named. An URL of the repository is used below the URL of this
   * server, whatever host the server believes to be. Any other is object storage, which gets no token of ours.
   */
  async uploadLfs(
    fullName: string,
    { href, headers }: { href: string; headers: Record<string, string> },
    { file, size }: { file: string; size: number },
    signal: AbortSignal,
  ): Promise<void> {
    const at = href.toLowerCase().indexOf(`/${fullName}.git/info/lfs/`.toLowerCase())
    const { authorization: _, ...others } = headers
    const own = { ...others, authorization: this.#lfsAuthorization }
    const isOwn = at !== -1
    await this.#client.change(
      isOwn ? href.slice(at) : href,
      {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream', ...(isOwn ? own : headers) },
        payload: { bytes: size, open: () => createReadStream(file) },
      },
      signal,
    )
  }
}

const LFS_TYPE = 'application/vnd.git-lfs+json'

/** Reads the description of the server's API. Returns undefined if the server does not publish it. */
async function describe(client: ForgeClient, signal: AbortSignal): Promise<JsonObject | undefined> {
  try {
    const path = '/swagger.v1.json'
    const response = await client.download(path, signal)
    return objectOf(await readJson(response, `${client.url}${path}`, () => {}))
  } catch (error) {
    if (error instanceof ForgeNotFound) return undefined
    throw error
  }
}
