import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Write } from '@godwit/archive/tar/copy-archive'
import type { LfsObject, LfsPointer } from '@godwit/git/snapshot'
import { Unreadable } from '@godwit/git/unreadable'
import type { ByteRange } from '@godwit/lib/bytes'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { requestedRange, setRangeHeaders } from '../../middleware/byte-ranges.ts'
import { bodyTooLarge, HttpError, unparsableBody } from '../../middleware/http-errors.ts'
import type {
  CloneDependencies,
  CloneRequest,
  ReadableRepository,
  Serving,
} from './clone-request.ts'
import { findReadable, gitErrorHandler, LFS_TYPE, serveCounted } from './clone-request.ts'

type ObjectRequest = CloneRequest & { Params: CloneRequest['Params'] & { oid: string } }

const OID = /^[0-9a-f]{64}$/
/** git-lfs requests 100 objects at a time. */
const MAX_OBJECTS = 1000
const BATCH_BODY = { maxBytes: 1024 * 1024, tooLarge: bodyTooLarge }

/** Serves downloads for git-lfs: the batch API with the transfer `basic`, and the objects. */
export function addLfsRoutes(lfs: FastifyInstance, dependencies: CloneDependencies): void {
  lfs.setErrorHandler(gitErrorHandler(dependencies.log, { isLfs: true }))

  lfs.post<CloneRequest>('/:owner/:name/info/lfs/objects/batch', async (request, reply) => {
    requireLfsTypes(request)
    const readable = await findReadable(dependencies, request, reply)
    return serveCounted(dependencies, request, reply, readable.repository, async (serving) => {
      const wanted = await readBatch(dependencies, request)
      const found = await findObjects(serving, readable, new Set(wanted.map(({ oid }) => oid)))
      const sizes = new Map(found.map(({ oid, size }) => [oid, size]))
      const { owner, name } = readable.repository
      const path = `${owner}/${name}${readable.isWiki ? '.wiki' : ''}.git/info/lfs/objects`
      const address = `${dependencies.rendering.addresses.api}/${path}`
      // A caller without a token reads a public repository, whose links need no credentials.
      const isPublic = request.viewer === null
      const objects = wanted.map((object) => ({
        ...object,
        ...(isPublic && { authenticated: true }),
        ...batchResult(object, sizes.get(object.oid), address),
      }))
      const body = { transfer: 'basic', objects, hash_algo: 'sha256' }
      reply.type(LFS_TYPE).send(JSON.stringify(body))
    })
  })

  lfs.get<ObjectRequest>(
    '/:owner/:name/info/lfs/objects/:oid',
    { exposeHeadRoute: false },
    async (request, reply) => {
      // Objects do not count against the rate limit, because a clone may need more than the limit. Their batches do.
      const readable = await findReadable(dependencies, request, reply, { isCounted: false })
      const { oid } = request.params
      if (!OID.test(oid)) throw objectNotFound()
      return serveCounted(dependencies, request, reply, readable.repository, async (serving) => {
        const [object] = await findObjects(serving, readable, new Set([oid]))
        if (!object) throw objectNotFound()
        const file = { etag: `"${oid}"`, length: object.size }
        const range = requestedRange(request.headers, file)
        const begin = () => setRangeHeaders(reply, file, range).type('application/octet-stream')
        if (range === null) {
          begin().send()
          return
        }
        serving.markAsStream()
        await sendObject(object, {
          range,
          begin: () => serving.client.begin(begin()),
          signal: serving.client.signal,
        })
        reply.raw.end()
      })
    },
  )

  lfs.route({
    method: ['GET', 'POST'],
    url: '/:owner/:name/info/lfs/*',
    exposeHeadRoute: false,
    // git-lfs takes 404 to mean that the server has no locks, and continues without them.
    async handler() {
      throw new HttpError(
        404,
        'Only downloads of LFS objects are served here. Locks are not supported.',
      )
    },
  })
}

const objectNotFound = () => new HttpError(404, 'This repository has no such LFS object.')

function requireLfsTypes({ headers }: FastifyRequest): void {
  const accepted = headers.accept?.toLowerCase().split(',') ?? ['*/*']
  const isAccepted = accepted.some((range) =>
    [LFS_TYPE, 'application/*', '*/*'].includes(range.split(';')[0]!.trim()),
  )
  if (!isAccepted) throw new HttpError(406, `The accept header must allow ${LFS_TYPE}.`)
  const type = headers['content-type']?.replace(/;.*/s, '').trim().toLowerCase()
  if (type !== LFS_TYPE) throw new HttpError(415, `The content type must be ${LFS_TYPE}.`)
}

/** Returns the requested objects without duplicates. Throws HttpError unless the request is a valid download. */
async function readBatch(
  { readBody }: CloneDependencies,
  request: FastifyRequest,
): Promise<LfsPointer[]> {
  const received = await readBody(request, BATCH_BODY)
  let batch: Record<string, unknown>
  try {
    batch = Object(JSON.parse(received.bytes.toString()))
  } catch {
    throw unparsableBody()
  } finally {
    received.release()
  }
  const { operation, transfers = ['basic'], hash_algo: algorithm = 'sha256', objects } = batch
  if (operation === 'upload')
    throw new HttpError(
      403,
      'This address is for cloning and fetching only. It does not accept LFS objects.',
    )
  if (operation !== 'download') throw new HttpError(422, 'The operation must be download.')
  if (!Array.isArray(transfers) || !transfers.includes('basic'))
    throw new HttpError(422, 'The transfers must include basic.')
  if (algorithm !== 'sha256') throw new HttpError(409, 'The hash_algo must be sha256.')
  if (!Array.isArray(objects)) throw new HttpError(422, 'The list of objects is missing.')
  if (objects.length > MAX_OBJECTS)
    throw new HttpError(413, `Too many objects: at most ${MAX_OBJECTS} in one request.`)
  if (!objects.every(isPointer))
    throw new HttpError(
      422,
      'Every object must have an oid of 64 hex digits in lower case, and a size.',
    )
  const distinct = new Map(objects.map(({ oid, size }) => [`${oid} ${size}`, { oid, size }]))
  return [...distinct.values()]
}

function isPointer(value: unknown): value is LfsPointer {
  const { oid, size } = Object(value) as Record<string, unknown>
  return typeof oid === 'string' && OID.test(oid) && Number.isSafeInteger(size) && Number(size) >= 0
}

/**
 * The links need the credentials of the clone, which git-lfs sends to the same host. An `authorization` in `header` would be sent in
 * addition to one that the user configures with `http.extraHeader`, and proxies reject requests with two.
 */
function batchResult({ oid, size }: LfsPointer, foundSize: number | undefined, address: string) {
  if (foundSize === undefined) return { error: { code: 404, message: objectNotFound().message } }
  if (foundSize !== size)
    return { error: { code: 422, message: `The object has ${foundSize} bytes.` } }
  return { actions: { download: { href: `${address}/${oid}` } } }
}

/** Takes a slot, because the search may start git. */
const findObjects = (
  { source, client, withSlot }: Serving,
  { repository, isWiki }: ReadableRepository,
  oids: Set<string>,
): Promise<LfsObject[]> =>
  withSlot(() =>
    source.findLfsObjects(repository, { oids: [...oids], isWiki, signal: client.signal }),
  )

const CHUNK_BYTES = 256 * 1024
const READ_REGULAR = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

interface SendOptions {
  range: ByteRange | undefined
  /** Sends the headers. Called when the first bytes are written. */
  begin: () => Write
  signal: AbortSignal
}

/**
 * Writes a range of an object. The whole object is read, whatever the range, and its last bytes are written only after its digest has
 * been compared with its oid: a client never gets a damaged object completely. Throws Unreadable for a damaged object.
 */
async function sendObject({ oid, size, from }: LfsObject, { range, begin, signal }: SendOptions) {
  const { start, end } = range ?? { start: 0, end: size }
  await using file = await open(from, READ_REGULAR)
  const hash = createHash('sha256')
  let buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let other = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  let held: Buffer | undefined
  let write: Write | undefined
  for (let at = 0; at < size; ) {
    signal.throwIfAborted()
    const { bytesRead } = await file.read(buffer, 0, Math.min(CHUNK_BYTES, size - at), at)
    if (bytesRead === 0) break
    hash.update(buffer.subarray(0, bytesRead))
    const wanted = buffer.subarray(
      Math.max(0, start - at),
      Math.max(0, Math.min(bytesRead, end - at)),
    )
    at += bytesRead
    if (wanted.length === 0) continue
    if (held) {
      write ??= begin()
      await write(held)
    }
    held = wanted
    ;[buffer, other] = [other, buffer]
  }
  if (hash.digest('hex') !== oid)
    throw new Unreadable(
      `The LFS object ${oid} is damaged on the server: its content does not match its oid.`,
    )
  write ??= begin()
  if (held) await write(held)
}
