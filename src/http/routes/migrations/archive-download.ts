import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { copyArchive, SegmentDamaged } from '../../../archive/copy-archive.ts'
import { type ArchivePlan, planArchive } from '../../../archive/plan-archive.ts'
import type { BlobStore, ByteRange } from '../../../blobs/blob-store.ts'
import type { Db } from '../../../db/database.ts'
import { archiveName } from '../../../lib/archive-name.ts'
import {
  archiveSegments,
  type FoundArchive,
  findArchive,
} from '../../../migrations/archive-store.ts'
import { damagedIn } from '../../../migrations/damaged-archives.ts'
import { NotFound } from '../../../migrations/errors.ts'
import { noteDamaged, noteVerifiedReads } from '../../../migrations/segment-check-store.ts'
import type { CheckedSegment } from '../../../migrations/segment-store.ts'
import type { Admission } from '../../middleware/admission.ts'
import { found } from '../../middleware/named-in-path.ts'
import { archiveDamaged, invalidLink, unavailable } from '../../middleware/refusals.ts'
import type { DownloadCounts } from '../../middleware/taking-client.ts'
import { ClientGone, watchClient } from '../../middleware/taking-client.ts'
import type { ArchiveLinks } from './archive-link.ts'
import { downloadArchive as operation } from './github-migrations-operations.ts'

export const ARCHIVE_TYPE = 'application/x-gzip'

export interface DownloadParts {
  db: Db
  blobs: BlobStore
  links: ArchiveLinks
  admission: Admission
  downloads: DownloadCounts
  log: Logger
  now: () => number
}

interface Download {
  Params: { guid: string }
  Querystring: Record<string, unknown>
}

/** A signed link → the archive's bytes, straight from its segments. The link is the credential: no token is asked. */
export function archiveDownload(app: FastifyInstance, parts: DownloadParts): void {
  const { db, links, admission, now } = parts

  app.get<Download>('/archives/:guid.tar.gz', { schema: operation }, async (request, reply) => {
    const { guid } = request.params
    if (!links.isValid(guid, request.query, now())) throw invalidLink()
    const archive = found(await findArchive(db, guid, now()))
    const segments = await archiveSegments(db, archive)
    if (segments.length === 0) throw new NotFound()
    if (segments.some(({ damagedAt }) => damagedAt !== null)) throw await damaged(db, archive)
    const plan = planArchive(segments)
    const name = archiveName(archive.id, archive.login, new Date(archive.createdAt))

    const { range: asked, 'if-range': ifRange } = request.headers
    const range = ifRange && ifRange !== plan.etag ? undefined : byteRange(asked, plan.length)
    if (range === null) {
      return describe(reply, plan, name)
        .code(416)
        .header('content-range', `bytes */${plan.length}`)
        .send()
    }
    // Sent nothing at all, fastify would announce a length of 0.
    if (request.method === 'HEAD') {
      return promise(reply, plan, name, range).send(Readable.from([]))
    }
    admission.stream(reply.raw, archive.ownerId)
    const begin = () => promise(reply, plan, name, range)
    await send(parts, request, reply, { archive, guid, segments, plan, range, begin })
    return reply
  })
}

const damaged = async (db: Db, archive: FoundArchive) =>
  archiveDamaged(await damagedIn(db, archive))

interface Sending {
  archive: FoundArchive
  guid: string
  segments: readonly CheckedSegment[]
  plan: ArchivePlan
  range: ByteRange | undefined
  /** Sets the headers of the answer. */
  begin: () => FastifyReply
}

/** That a segment was intact when it was sent is written down where the last check is older: not at every download. */
const NOTED_AFTER_MS = 24 * 60 * 60 * 1000

/** However it ends, that is counted; and told, unless all of it was sent. */
async function send(
  parts: DownloadParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { archive, guid, segments, plan, range = { start: 0, end: plan.length }, begin }: Sending,
): Promise<void> {
  const { db, blobs, downloads, log, now } = parts
  const client = watchClient(reply.raw)
  const about = () => ({
    id: request.id,
    from: request.ip,
    guid,
    sent: client.sent(),
    of: range.end - range.start,
  })
  const verified = new Set<string>()
  try {
    await copyArchive(plan, blobs, {
      range,
      begin: () => client.begin(begin()),
      signal: client.signal,
      onVerified: (key) => verified.add(key),
    })
    reply.raw.end()
    downloads.add('whole')
  } catch (err) {
    const isGone = client.signal.aborted || err instanceof ClientGone
    downloads.add(isGone ? 'ended_by_client' : 'failed_at_source')
    if (isGone) log.info(about(), 'the client ended a download')
    else log.error({ err, ...about() }, 'an archive cannot be read')
    // Written down before the connection breaks: whoever then asks for the rest must not get it as if nothing were wrong.
    const isNoted = err instanceof SegmentDamaged && (await noteDamage(parts, err))
    if (!reply.sent) throw isNoted ? await damaged(db, archive) : unavailable()
    // The headers are out: only a connection that breaks can still tell that this is not all.
    reply.raw.destroy()
  }
  const since = now() - NOTED_AFTER_MS
  const old = segments.filter(({ key, checkedAt }) => verified.has(key) && checkedAt < since)
  await noteVerifiedReads(db, keysOf(old), now()).catch((err: unknown) =>
    log.warn({ err }, 'could not record that stored data is intact'),
  )
}

const keysOf = (segments: readonly CheckedSegment[]) => segments.map(({ key }) => key)

/** False where it could not be written down, or the archive was deleted meanwhile. */
async function noteDamage({ db, log, now }: DownloadParts, { key }: SegmentDamaged) {
  try {
    const noted = await db.transaction().execute((tx) => noteDamaged(tx, [key], now()))
    return noted.length > 0
  } catch (err) {
    log.error({ err, segment: key }, 'could not record that stored data is damaged')
    return false
  }
}

/** The headers that say what follows. */
function promise(
  reply: FastifyReply,
  plan: ArchivePlan,
  name: string,
  range: ByteRange | undefined,
): FastifyReply {
  const { start, end } = range ?? { start: 0, end: plan.length }
  if (range) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${plan.length}`)
  return describe(reply, plan, name).header('content-length', end - start)
}

function describe(reply: FastifyReply, { etag }: ArchivePlan, name: string): FastifyReply {
  return reply.headers({
    'content-type': ARCHIVE_TYPE,
    'content-disposition': `attachment; filename=${name}`,
    'accept-ranges': 'bytes',
    'cache-control': 'private, no-store',
    etag,
  })
}

/**
 * The one range that a `range` header asks for: undefined where there is none that we serve (several, or another unit,
 * in which case the whole is the right answer), null where it lies outside.
 */
export function byteRange(
  header: string | undefined,
  length: number,
): ByteRange | null | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/i.exec(header?.trim() ?? '') ?? []
  if (first === undefined || last === undefined || (first === '' && last === '')) return undefined
  if (first === '') {
    const suffix = Math.min(Number(last), length)
    return suffix === 0 ? null : { start: length - suffix, end: length }
  }
  const start = Number(first)
  const end = last === '' ? length : Math.min(Number(last) + 1, length)
  if (last !== '' && Number(last) < start) return undefined
  return start < length ? { start, end } : null
}
