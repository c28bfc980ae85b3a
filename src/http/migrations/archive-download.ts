import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { copyArchive, type Write } from '../../archive/copy-archive.ts'
import { type ArchivePlan, planArchive } from '../../archive/plan-archive.ts'
import { readArchive } from '../../archive/read-archive.ts'
import { type BlobStore, isOnDisk } from '../../blobs/blob-store.ts'
import type { Db } from '../../db/database.ts'
import { archiveSegments, findArchive } from '../../migrations/archive-store.ts'
import { NotFound } from '../../migrations/refusals.ts'
import { downloadArchive as operation } from '../description/openapi-migrations.ts'
import type { Admission } from '../door/admission.ts'
import { invalidLink } from '../door/refusals.ts'
import type { ArchiveLinks } from './archive-link.ts'
import { byteRange } from './byte-range.ts'

export const ARCHIVE_TYPE = 'application/x-gzip'

export interface DownloadParts {
  db: Db
  blobs: BlobStore
  links: ArchiveLinks
  admission: Admission
  now: () => number
}

interface Download {
  Params: { guid: string }
  Querystring: Record<string, unknown>
}

/** A signed link → the archive's bytes, straight from its segments. The link is the credential: no token is asked. */
export function archiveDownload(app: FastifyInstance, parts: DownloadParts): void {
  const { db, blobs, links, admission, now } = parts

  app.get<Download>('/archives/:guid.tar.gz', { schema: operation }, async (request, reply) => {
    const { guid } = request.params
    if (!links.isValid(guid, request.query, now())) throw invalidLink()
    const archive = await findArchive(db, guid)
    if (!archive) throw new NotFound()
    const plan = planArchive(await archiveSegments(db, archive))
    describe(reply, plan, guid)

    const { range: asked, 'if-range': ifRange } = request.headers
    const range = ifRange && ifRange !== plan.etag ? undefined : byteRange(asked, plan.length)
    if (range === null) {
      return reply.code(416).header('content-range', `bytes */${plan.length}`).send()
    }
    const { start, end } = range ?? { start: 0, end: plan.length }
    if (range) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${plan.length}`)
    reply.header('content-length', end - start)
    // Sent nothing at all, fastify would announce a length of 0.
    if (request.method === 'HEAD') return reply.send(Readable.from([]))
    admission.stream(reply.raw)
    if (isOnDisk(blobs)) {
      const write = openStream(reply)
      await copyArchive(plan, blobs, { start, end }, write).then(
        () => reply.raw.end(),
        // The headers are out: only a connection that breaks can still tell that this is not all.
        (error: Error) => reply.raw.destroy(error),
      )
      return reply
    }
    const stream = Readable.from(readArchive(plan, blobs, { start, end }), { objectMode: false })
    return reply.send(stream)
  })
}

/** From here on the answer is written by hand, with the headers that were set so far. */
function openStream(reply: FastifyReply): Write {
  const { raw } = reply
  reply.hijack()
  raw.writeHead(reply.statusCode, reply.getHeaders() as Record<string, string>)
  const closed = Promise.withResolvers<void>()
  closed.promise.catch(() => {})
  raw.once('close', () => closed.reject(new Error('the client is gone')))
  return (bytes) => {
    const taken = Promise.withResolvers<void>()
    raw.write(bytes, (error) => (error ? taken.reject(error) : taken.resolve()))
    return Promise.race([taken.promise, closed.promise])
  }
}

function describe(reply: FastifyReply, { etag }: ArchivePlan, guid: string): void {
  reply.headers({
    'content-type': ARCHIVE_TYPE,
    'content-disposition': `attachment; filename=${guid}.tar.gz`,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    etag,
  })
}
