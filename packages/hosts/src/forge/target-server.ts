import { createReadStream } from 'node:fs'
import { isAtLeast } from '@godwit/lib/is-at-least'
import { memoize } from '@godwit/lib/memoize'
import { HostRequestFailed, isNotFound, undefinedIf } from '../host-errors.ts'
import { segment } from '../host-url.ts'
import { undefinedIfAbsent } from '../http/confirm-absence.ts'
import type { ApiClient, Change } from '../http/http-client.ts'
import { readJson } from '../http/http-response.ts'
import type { Json } from '../http/json-fields.ts'
import * as json from '../http/json-fields.ts'
import { openFile } from '../http/open-file.ts'
import { listAll, pagesOf } from '../http/pages.ts'
import { ForgeClient } from './client/forge-client.ts'
import { knownForgeCache } from './client/known-forge.ts'
import { parseUser } from './forge-token.ts'

/**
 * The operations that not every version has: their path and method in the server's description of its API, and the first version of
 * Gitea that has them, which decides if the server does not publish that description.
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

type FileToUpload = { path: string; name: string; contentType: string; bytes: number }

/** The server that a move is finished on, used with one token. Every method rejects with HostUnavailable or HostRequestFailed. */
export type TargetServer = Awaited<ReturnType<typeof connectTarget>>

/** Reads what the server is and can do. */
export async function connectTarget(options: { url: string; token: string }, signal: AbortSignal) {
  const client = new ForgeClient(options)
  const { url } = client
  const { version, paging } = await knownForgeCache(client)(signal)
  const { login } = parseUser((await client.get('/user', {}, signal)).body, url)
  // The addresses of git-lfs accept the token only as a password.
  const authorization = `Basic ${Buffer.from(`${login}:${options.token}`).toString('base64')}`
  const description = await readDescription(client, signal)

  const described = (...keys: string[]): Json | undefined =>
    keys.reduce<Json | undefined>((value, key) => value && json.object(value, key), description)
  const operationOf = (operation: Operation) =>
    described('paths', OPERATIONS[operation][0], OPERATIONS[operation][1])

  const change = async (target: string, change: Change): Promise<Json> =>
    json.objectOf(await client.change(target, change, signal))

  /** Gets JSON below `/api/v1`, or undefined if it does not exist. */
  async function find(path: string): Promise<Json | undefined> {
    const found = await undefinedIfAbsent(client, () => client.get(path, {}, signal), signal)
    return found && json.objectOf(found.body)
  }

  return {
    url,
    version,
    find,

    can(operation: Operation): boolean {
      if (!description) return isAtLeast(version.gitea, OPERATIONS[operation][2])
      return operationOf(operation) !== undefined
    },

    /** Returns whether the body of a request has a field in this version. */
    hasField(request: string, field: string): boolean {
      const properties = described('definitions', request, 'properties')
      // The version decides if the server does not describe it.
      if (!properties) return field === 'rule_name' && isAtLeast(version.gitea, [1, 19])
      return field in properties
    },

    /** Returns whether the server lets the caller set the time of a change in the query, as Forgejo does. */
    acceptsTime: (operation: Operation): boolean =>
      json
        .objects(operationOf(operation) ?? {}, 'parameters')
        .some(({ name }) => name === 'updated_at'),

    /** Returns all entries of a list below `/api/v1` that can be read. */
    list: (path: string): Promise<Json[]> =>
      listAll(client, { path, ...paging, onMissing: () => {} }, signal),

    /** Yields every page of a list that may be too long for the memory. */
    pages: (path: string, query: Record<string, string>) =>
      pagesOf(client, { path, query, ...paging }, signal),

    hasUser: memoize(10_000, async (login: string): Promise<boolean> => {
      const found = find(`/users/${segment(login)}`)
      return (await found.catch(undefinedIf(isRedirect))) !== undefined
    }),

    /** Sends JSON below `/api/v1`, and returns that of the response. */
    write: (method: Change['method'], path: string, body?: object): Promise<Json> =>
      change(`/api/v1${path}`, { method, ...(body && { json: body }) }),

    /** Uploads a file as a form, and returns the attachment. */
    upload(path: string, file: FileToUpload, query: Record<string, string>): Promise<Json> {
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
      return change(`/api/v1${path}?${new URLSearchParams({ name: file.name, ...query })}`, {
        method: 'POST',
        headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
        payload: { bytes: head.length + file.bytes + tail.length, open },
      })
    },

    openAttachment: (uuid: string, size: number) =>
      openFile(client, { file: uuid, source: `/attachments/${segment(uuid)}`, size }, signal),

    /** Sends a request of git-lfs to a repository. */
    lfs(fullName: string, path: string, body: object): Promise<Json> {
      const headers = { accept: LFS_TYPE, 'content-type': LFS_TYPE, authorization }
      const target = `/${fullName}.git/info/lfs/${path}`
      return change(target, { method: 'POST', json: body, headers })
    },

    /**
     * Uploads the file of an LFS object to the URL that the server named. If that is a URL of the repository, the host that the user
     * named is used, because the server may not know its own. Any other URL is object storage, which gets no token of ours.
     */
    async uploadLfs(
      fullName: string,
      { href, headers }: { href: string; headers: Record<string, string> },
      { file, size }: { file: string; size: number },
    ): Promise<void> {
      const at = href.toLowerCase().indexOf(`/${fullName}.git/info/lfs/`.toLowerCase())
      if (at === -1 && !/^https?:$/.test(URL.parse(href)?.protocol ?? ''))
        throw new HostRequestFailed(0, 'the server named no valid address for the LFS object')
      const type = { 'content-type': 'application/octet-stream' }
      await change(at === -1 ? href : href.slice(at), {
        method: 'PUT',
        headers: { ...type, ...headers, ...(at !== -1 && { authorization }) },
        payload: { bytes: size, open: () => createReadStream(file) },
      })
    },
  }
}

/** A server redirects the old login of a renamed account. */
const isRedirect = (error: unknown): boolean =>
  error instanceof HostRequestFailed && error.status >= 300 && error.status <= 399

const LFS_TYPE = 'application/vnd.git-lfs+json'

/** Reads the description of the server's API. Returns undefined if the server does not publish it. */
async function readDescription(client: ApiClient, signal: AbortSignal) {
  const path = '/swagger.v1.json'
  const response = await client.download(path, signal).catch(undefinedIf(isNotFound))
  return response && json.objectOf(await readJson(response, `${client.url}${path}`, () => {}))
}
