import { batchesOf } from '@godwit/lib/chunks'
import type { Host } from '../host.ts'
import { HostRequestFailed, isNotFound, undefinedIf } from '../host-errors.ts'
import { repositoryPagePath } from '../host-url.ts'
import { HttpClient } from './http-client.ts'
import * as json from './json-fields.ts'
import { readBytes } from './open-file.ts'

const LFS_BATCH = 100
const LFS_JSON = 'application/vnd.git-lfs+json'

/** Asks a host for refs and LFS objects at the addresses that git and git-lfs use. `url` is the address of its pages. */
export function gitRemote(options: {
  url: string
  token: string
  maxWaitMs: number
}): Pick<Host, 'refs' | 'lfsSizes'> {
  const pages = new HttpClient({ ...options, isPassword: true })
  const { url } = pages
  return {
    async refs(repository, signal) {
      const path = `${repositoryPagePath(repository)}.git/info/refs?service=git-upload-pack`
      const response = await pages.download(path, signal, '*/*').catch(undefinedIf(isNotFound))
      return response && parseRefs(readBytes(response, url, signal), url)
    },

    async lfsSizes(repository, objects, signal) {
      const path = `${repositoryPagePath(repository)}.git/info/lfs/objects/batch`
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
  error instanceof HostRequestFailed && error.status === 404

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
        throw new HostRequestFailed(200, `${url} did not return a list of refs`)
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
    throw new HostRequestFailed(200, `${url} sent an incomplete list of refs`)
  return refs
}
