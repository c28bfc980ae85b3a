import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { type ArchivePlan, planArchive } from '../archive/plan-archive.ts'
import { readArchive } from '../archive/read-archive.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { Db } from '../db/connect.ts'
import { archiveSegments, findArchive } from '../migrations/archive-store.ts'
import { NotFound } from '../migrations/refusals.ts'
import type { Admission } from './admission.ts'
import type { ArchiveLinks } from './archive-link.ts'
import { byteRange } from './byte-range.ts'
import { downloadArchive as operation } from './description/openapi-migrations.ts'
import { invalidLink } from './refusals.ts'

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
    const stream = Readable.from(readArchive(plan, blobs, { start, end }), { objectMode: false })
    return reply.send(stream)
  })
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
