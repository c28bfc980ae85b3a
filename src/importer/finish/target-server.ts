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
import { openFile } from '../../sources/forge/client/open-file.ts'
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

/** A file of the dump. */
interface FileToUpload {
  path: string
  name: string
  contentType: string
  bytes: number
}

interface Known {
  client: ForgeClient
  version: ForgeVersion
  pageSize: number
  /** What the server publishes about its API. */
  description: JsonObject | undefined
  lfsAuthorization: string
  signal: AbortSignal
}

/** The server that a move is finished on, used with one token. Every method rejects with ForgeUnavailable or ForgeRequestFailed. */
export class TargetServer {
  readonly version: ForgeVersion
  readonly #known: Known
  readonly #users = new Map<string, Promise<boolean>>()

  private constructor(known: Known) {
    this.version = known.version
    this.#known = known
  }

  /** Reads what the server is and can do. */
  static async connect(options: { url: string; token: string }, signal: AbortSignal) {
    const client = new ForgeClient(options)
    const { version, pageSize } = await knownForgeCache(client)(signal)
    const { login } = parseUser((await client.get('/user', {}, signal)).body, client.url)
    const lfsAuthorization = `Basic ${Buffer.from(`${login}:${options.token}`).toString('base64')}`
    const description = await describe(client, signal)
    const known = { client, version, pageSize, description, lfsAuthorization, signal }
    return new TargetServer(known)
  }

  get url(): string {
    return this.#known.client.url
  }

  can(operation: Operation): boolean {
    const [, , since] = OPERATIONS[operation]
    if (!this.#known.description) return isAtLeast(this.version.gitea, since)
    return this.#operation(operation) !== undefined
  }

  /** Returns whether the body of a request has a field in this version. */
  hasField(request: string, field: string): boolean {
    const properties = this.#described('definitions', request, 'properties')
    // The version decides if the server does not describe it.
    if (!properties) return field === 'rule_name' && isAtLeast(this.version.gitea, [1, 19])
    return field in properties
  }

  /** Returns whether the server lets the caller set the time of a change in the query, as Forgejo does. */
  takesTime = (operation: Operation): boolean =>
    objectsIn(this.#operation(operation) ?? {}, 'parameters').some(
      ({ name }) => name === 'updated_at',
    )

  #operation(operation: Operation): JsonObject | undefined {
    const [path, method] = OPERATIONS[operation]
    return this.#described('paths', path, method)
  }

  #described = (...keys: string[]): JsonObject | undefined =>
    keys.reduce<JsonObject | undefined>(
      (within, key) => within && objectIn(within, key),
      this.#known.description,
    )

  /** Gets JSON below `/api/v1`, or undefined if it does not exist. */
  async find(path: string): Promise<JsonObject | undefined> {
    const request = () => this.#known.client.get(path, {}, this.#known.signal)
    const found = await undefinedIfAbsent(this.#known.client, request, this.#known.signal)
    return found && objectOf(found.body)
  }

  list = (path: string): Promise<JsonObject[]> =>
    listAll(
      this.#known.client,
      { path, limit: this.#known.pageSize, onMissing: () => {} },
      this.#known.signal,
    )

  /** Yields every page of a list that may be too long for the memory. */
  pages = (path: string, query: Record<string, string>) =>
    pagesOf(this.#known.client, { path, query, limit: this.#known.pageSize }, this.#known.signal)

  hasUser(login: string): Promise<boolean> {
    const known = this.#users.get(login)
    const found = known ?? this.find(`/users/${segment(login)}`).then((user) => !!user)
    this.#users.set(login, found)
    return found
  }

  async write(
    method: Change['method'],
    path: string,
    json: object | undefined,
  ): Promise<JsonObject> {
    const change = { method, ...(json && { json }) }
    return objectOf(await this.#known.client.change(`/api/v1${path}`, change, this.#known.signal))
  }

  /** Uploads a file as a form, and returns the attachment. */
  async upload(path: string, file: FileToUpload, query: Record<string, string>) {
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
    return objectOf(
      await this.#known.client.change(`/api/v1${path}?${search}`, change, this.#known.signal),
    )
  }

  /** Yields the bytes of an attachment. */
  openAttachment = (uuid: string, size: number) =>
    openFile(
      this.#known.client,
      { file: uuid, source: `/attachments/${segment(uuid)}`, size },
      this.#known.signal,
    )

  /** Sends a request of git-lfs to a repository. */
  async lfs(fullName: string, path: string, json: object): Promise<JsonObject> {
    const headers = {
      ...{
        accept: LFS_TYPE,
        'content-type': LFS_TYPE,
        authorization: this.#known.lfsAuthorization,
      },
    }
    const target = `/${fullName}.git/info/lfs/${path}`
    return objectOf(
      await this.#known.client.change(
        target,
        { method: 'POST', json, headers },
        this.#known.signal,
      ),
    )
  }

  /**
   * Uploads the file of an LFS object to the URL that the server named. An URL of the repository is used below the URL of this
   * server, whatever host the server believes to be. Any other is object storage, which gets no token of ours.
   */
  async uploadLfs(
    fullName: string,
    { href, headers }: { href: string; headers: Record<string, string> },
    { file, size }: { file: string; size: number },
  ): Promise<void> {
    const at = href.toLowerCase().indexOf(`/${fullName}.git/info/lfs/`.toLowerCase())
    const { authorization: _, ...others } = headers
    const own = { ...others, authorization: this.#known.lfsAuthorization }
    const isOwn = at !== -1
    await this.#known.client.change(
      isOwn ? href.slice(at) : href,
      {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream', ...(isOwn ? own : headers) },
        payload: { bytes: size, open: () => createReadStream(file) },
      },
      this.#known.signal,
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
