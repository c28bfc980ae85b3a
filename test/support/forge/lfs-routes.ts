import type { IncomingMessage } from 'node:http'
import { type ForgeData, fullNameOf, type Repository, type User } from './forge-data.ts'
import type { ForgeGit } from './forge-git.ts'
import type { ForgeResponse } from './responses.ts'

const TYPE = 'application/vnd.git-lfs+json'

interface Pointer {
  oid: string
  size: number
}

const answer = (body: unknown, status = 200): ForgeResponse => ({
  status,
  body,
  headers: { 'content-type': TYPE },
})

const isPointer = ({ oid, size }: Pointer) => /^[0-9a-f]{64}$/.test(oid) && size >= 0

/** Handles the LFS API of a repository: batch, upload, download and verify. Returns undefined for other paths. */
export async function handleLfs(
  { world, url }: { world: ForgeData; url: string },
  path: string,
  request: IncomingMessage,
  user: User,
): Promise<ForgeResponse | undefined> {
  const [, owner = '', name = '', rest = ''] =
    /^\/([^/]+)\/([^/]+?)\.git\/info\/lfs\/(.+)$/.exec(path) ?? []
  if (!rest) return undefined
  const repository = world.findRepository(owner, name)
  if (!repository || !world.git) return answer({ message: 'Not Found' }, 404)
  // As in Gitea, a token must be sent as the password.
  if (!/^basic /i.test(request.headers.authorization ?? ''))
    return answer({ message: 'Unauthorized' }, 401)
  const bytes = Buffer.concat(await request.toArray())
  const [, , oid = '', size] = /^(objects)\/([0-9a-f]{64})(?:\/(.+))?$/.exec(rest) ?? []
  if (request.method === 'POST' && rest === 'objects/batch') {
    const { operation, objects } = JSON.parse(bytes.toString())
    const isUpload = operation === 'upload'
    if (isUpload && repository.isArchived) return answer({ message: 'Forbidden' }, 403)
    const base = `${url}/${fullNameOf(repository)}.git/info/lfs`
    const context = { git: world.git, repository, base, user, isUpload }
    return answer({ objects: objects.map((each: Pointer) => describeObject(context, each)) })
  }
  if (request.method === 'PUT' && oid) {
    if (bytes.length !== Number(size) || !world.git.storeLfs(oid, bytes))
      return answer({ message: 'content hash does not match OID' }, 422)
    repository.lfs.add(oid)
    return answer({ message: 'OK' })
  }
  if (request.method === 'POST' && rest === 'verify') {
    const pointer = JSON.parse(bytes.toString()) as Pointer
    const found = repository.lfs.has(pointer.oid) ? world.git.readLfs(pointer.oid) : undefined
    return found?.length === pointer.size
      ? answer({ message: 'OK' })
      : answer({ message: 'Not Found' }, 404)
  }
  const found = oid && repository.lfs.has(oid) ? world.git.readLfs(oid) : undefined
  return request.method === 'GET' && found
    ? { bytes: found }
    : answer({ message: 'Not Found' }, 404)
}

interface BatchContext {
  git: ForgeGit
  repository: Repository
  base: string
  user: User
  isUpload: boolean
}

function describeObject({ git, repository, base, user, isUpload }: BatchContext, pointer: Pointer) {
  const { oid, size } = pointer
  const failed = (code: number, message: string) => ({ oid, size, error: { code, message } })
  if (!isPointer(pointer)) return failed(422, 'Oid or size are invalid')
  const stored = git.readLfs(oid)
  const isHere = repository.lfs.has(oid)
  if (isHere && stored && stored.length !== size)
    return failed(422, `Object ${oid} is not ${size} bytes`)
  // As in Gitea, links have their own credentials.
  const Authorization = `Basic ${Buffer.from(`${user.login}:lfs`).toString('base64')}`
  if (!isUpload) {
    if (!stored || !isHere) return failed(404, 'Not Found')
    return {
      oid,
      size,
      actions: { download: { href: `${base}/objects/${oid}`, header: { Authorization } } },
    }
  }
  // As in Gitea, an object that another repository has need not be uploaded again.
  if (stored) repository.lfs.add(oid)
  if (stored) return { oid, size, actions: {} }
  return {
    ...{ oid, size },
    actions: {
      upload: { href: `${base}/objects/${oid}/${size}`, header: { Authorization } },
      verify: { href: `${base}/verify`, header: { Authorization, Accept: TYPE } },
    },
  }
}
