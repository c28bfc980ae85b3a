import { batchesOf } from '../../lib/chunks.ts'
import { ForgeRequestFailed, isNotFound, undefinedIf } from '../forge-errors.ts'
import type { LfsPointer } from '../snapshot.ts'
import type { RepositoryName } from '../source.ts'
import { normalizeForgeUrl, segment } from './client/forge-address.ts'
import { ForgeClient, type ForgeOptions } from './client/forge-client.ts'
import * as json from './client/forge-values.ts'
import { type ForgeVersion, readVersion } from './client/forge-version.ts'
import { GitHubClient } from './client/github-client.ts'
import { readBytes } from './client/open-file.ts'
import { forgeDiscussions } from './discussions/forge-discussions.ts'

export type Host = ReturnType<typeof openHost>

/** Where GitHub stores the files of releases. */
const GITHUB_STORAGE = ['objects', 'release-assets'].map(
  (name) => `https://${name}.githubusercontent.com`,
)
const LFS_BATCH = 100
const LFS_JSON = 'application/vnd.git-lfs+json'
/** GitHub's limits are reset every hour. */
const MAX_WAIT_MS = 65 * 60 * 1000

/**
 * Opens a Gitea, Forgejo or GitHub server that is only read, with the token of any user. Sends no request yet. Throws UserError;
 * the methods reject like those of Discussions.
 */
export function openHost(
  kind: 'forge' | 'github',
  { url, token, storageOrigins = [] }: Pick<ForgeOptions, 'url' | 'token' | 'storageOrigins'>,
) {
  const { pagesUrl, apiUrl, apiPath } = addressesOf(kind, normalizeForgeUrl(url))
  const common = { token, maxWaitMs: MAX_WAIT_MS }
  const options = { ...common, url: apiUrl, apiPath }
  const api =
    kind === 'github'
      ? new GitHubClient({ ...options, storageOrigins: [...storageOrigins, ...GITHUB_STORAGE] })
      : new ForgeClient({ ...options, storageOrigins, showsOriginalAuthors: true })
  const pages = new ForgeClient({ ...common, url: pagesUrl, isPassword: true })
  const pathOf = ({ owner, name }: RepositoryName) => `/${segment(owner)}/${segment(name)}`
  return {
    kind,
    /** The address of its pages, without a trailing slash. */
    url: pagesUrl,
    discussions: forgeDiscussions(options, { client: api }),
    /** Returns the version of Gitea, or of the Gitea that a Forgejo descends from. For GitHub it is later than all versions. */
    version: async (signal: AbortSignal): Promise<ForgeVersion['gitea']> =>
      kind === 'github' ? [Number.POSITIVE_INFINITY, 0] : (await readVersion(api, signal)).gitea,

    /** Returns the object of each ref by its name, as git lists them, or undefined if there is no such repository. */
    async refs(repository: RepositoryName, signal: AbortSignal) {
      const path = `${pathOf(repository)}.git/info/refs?service=git-upload-pack`
      const response = await pages.download(path, signal, '*/*').catch(undefinedIf(isNotFound))
      return response && parseRefs(readBytes(response, pagesUrl, signal), pagesUrl)
    },

    /** Yields the diff of a pull request, as git writes it. */
    async *pullDiff(repository: RepositoryName, number: number, signal: AbortSignal) {
      const path = `${apiPath}/repos${pathOf(repository)}/pulls/${number}`
      const response =
        kind === 'github'
          ? await api.download(path, signal, 'application/vnd.github.diff')
          : await api.download(`${path}.diff`, signal, 'text/plain')
      yield* readBytes(response, apiUrl, signal)
    },

    /** Returns the size of each of these LFS objects that the host has, by oid. Downloads none. */
    async lfsSizes(
      repository: RepositoryName,
      objects: readonly LfsPointer[],
      signal: AbortSignal,
    ) {
      const path = `${pathOf(repository)}.git/info/lfs/objects/batch`
      const headers = { accept: LFS_JSON, 'content-type': LFS_JSON }
      const sizes = new Map<string, number>()
      for (const batch of batchesOf(objects, LFS_BATCH)) {
        const query = { operation: 'download', transfers: ['basic'], objects: batch }
        const request = { method: 'POST', json: query, headers } as const
        // A server without git-lfs has none of the objects.
        const found = await pages.change(path, request, signal).catch(undefinedIf(hasStatus404))
        for (const object of json.objects(json.objectOf(found), 'objects'))
          if (object.error === undefined && object.actions !== undefined)
            sizes.set(json.string(object, 'oid'), json.integer(object, 'size'))
      }
      return sizes
    },
  }
}

const hasStatus404 = (error: unknown): boolean =>
  error instanceof ForgeRequestFailed && error.status === 404

/** github.com and the tenants of ghe.com have a separate host for the API. GitHub Enterprise Server has a path. */
function addressesOf(kind: 'forge' | 'github', given: string) {
  if (kind === 'forge') return { pagesUrl: given, apiUrl: given, apiPath: '/api/v1' }
  const url = given.replace(/\/api\/v3$/, '')
  const [, host] = /^https:\/\/(?:api\.)?(github\.com|[\w-]+\.ghe\.com)$/.exec(url) ?? []
  return host
    ? { pagesUrl: `https://${host}`, apiUrl: `https://api.${host}`, apiPath: '' }
    : { pagesUrl: url, apiUrl: url, apiPath: '/api/v3' }
}

const MAX_LINE = 65_520

/** Parses the refs that git's HTTP protocol advertises: pkt-lines, which begin with their length in hexadecimal. */
async function parseRefs(body: AsyncIterable<Uint8Array>, url: string) {
  const refs = new Map<string, string>()
  let rest = ''
  let flushes = 0
  for await (const chunk of body) {
    rest += Buffer.from(chunk).toString('latin1')
    let at = 0
    while (rest.length - at >= 4) {
      const length = Number.parseInt(rest.slice(at, at + 4), 16)
      if (!(length === 0 || (length >= 4 && length <= MAX_LINE)))
        throw new ForgeRequestFailed(200, `${url} did not return a list of refs`)
      if (length > rest.length - at) break
      const [line = ''] = rest.slice(at + 4, at + length).split('\0')
      const [, oid, name] = /^([0-9a-f]{40,64}) (refs\/.*?)\n?$/s.exec(line) ?? []
      if (oid && name && !name.endsWith('^{}'))
        refs.set(Buffer.from(name, 'latin1').toString('utf8'), oid)
      if (length === 0) flushes++
      at += length || 4
    }
    rest = rest.slice(at)
  }
  // The list ends with the second flush. Old versions send only the first one if there is no repository, or an empty one.
  if (flushes < (refs.size > 0 ? 2 : 1) || rest !== '')
    throw new ForgeRequestFailed(200, `${url} sent an incomplete list of refs`)
  return refs
}
