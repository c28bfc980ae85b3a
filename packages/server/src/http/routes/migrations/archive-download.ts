import { Readable } from 'node:stream'
import { copyArchive, SegmentDamaged } from '@godwit/archive/tar/copy-archive'
import { type ArchivePlan, planArchive } from '@godwit/archive/tar/plan-archive'
import { archiveName } from '@godwit/contract/schemas/archive-name'
import { string } from '@godwit/contract/schemas/schema'
import type { ByteRange } from '@godwit/lib/bytes'
import { NotFound } from '@godwit/lib/request-errors'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { recordAccess } from '../../../accounts/audit-log.ts'
import { BlobNotFound, type BlobStore } from '../../../blobs/blob-store.ts'
import type { Db } from '../../../db/database.ts'
import type { FoundArchive } from '../../../migrations/archive-store.ts'
import * as archiveStore from '../../../migrations/archive-store.ts'
import { aboutMigration } from '../../../migrations/migration.ts'
import { recordDamaged, recordVerifiedReads } from '../../../migrations/segment-check-store.ts'
import type { CheckedSegment } from '../../../migrations/segment-store.ts'
import type { ArchiveLinks } from '../../credentials/archive-links.ts'
import * as openapi from '../../description/operation.ts'
import { requestedRange, setRangeHeaders } from '../../middleware/byte-ranges.ts'
import type { Admission } from '../../middleware/concurrency-limit.ts'
import { archiveDamaged, invalidLink, unavailable } from '../../middleware/http-errors.ts'
import { actorOf, addressKey, requireFound } from '../../middleware/request.ts'
import type { OutcomeCounter } from '../../middleware/response-stream.ts'
import { ClientDisconnected, watchClient } from '../../middleware/response-stream.ts'

export const ARCHIVE_TYPE = 'application/x-gzip'

export interface DownloadDependencies {
  db: Db
  blobs: BlobStore
  links: ArchiveLinks
  cors: Record<string, string>
  admission: Admission
  downloads: OutcomeCounter
  log: Logger
  now: () => number
}

const archiveHeaders = openapi.withHeaders('etag', 'accept-ranges', 'content-disposition')
const archiveContent = { [ARCHIVE_TYPE]: { schema: {} } }

const routes = openapi.routes('Archives')({
  'archives/download': {
    summary: 'Download an archive',
    description:
      'The operations that get the archive of a migration return this link. No token is needed. Interrupted downloads can be resumed with a range.',
    security: [],
    parameters: [
      openapi.inPath(
        'guid',
        { ...string, format: 'uuid' },
        '3f1c2a52-6b7e-4f7e-9d55-0a4f8c1f7b21',
        'The `guid` of the migration.',
      ),
      { name: 'expires', in: 'query', required: true, schema: string, example: '1777887300' },
      { name: 'sig', in: 'query', required: true, schema: string, example: '9f86d081884c7d65' },
      openapi.inHeader(
        'range',
        'One range of bytes, such as `bytes=1048576-`. If there are several ranges, the response is the whole archive.',
      ),
      openapi.inHeader('if-range', 'The `etag` of the first part.'),
    ],
    responses: {
      200: { description: 'The whole archive.', ...archiveHeaders, content: archiveContent },
      206: {
        description: 'The requested range.',
        headers: { ...archiveHeaders.headers, ...openapi.withHeaders('content-range').headers },
        content: archiveContent,
      },
      403: openapi.errorResponse('link-invalid'),
      404: openapi.errorResponse('link-gone'),
      410: openapi.errorResponse('archive-damaged'),
      416: openapi.errorResponse('range-outside'),
      429: openapi.errorResponse('too-many-requests'),
      503: openapi.errorResponse('archive-unreadable'),
    },
  },
})

/** Sends the bytes of an archive from its segments. The signed link is the credential, so no token is needed. */
export function addArchiveDownloadRoute(
  app: FastifyInstance,
  dependencies: DownloadDependencies,
): void {
  const { db, links, cors, admission, now } = dependencies
  const recordDownload = downloadRecorder(dependencies)

  app.get<{ Params: { guid: string }; Querystring: Record<string, unknown> }>(
    '/archives/:guid.tar.gz',
    routes['archives/download'],
    async (request, reply) => {
      reply.headers(cors)
      const { guid } = request.params
      if (!links.isValid(guid, request.query, now())) throw invalidLink()
      const archive = requireFound(await archiveStore.findArchive(db, guid, now()))
      const segments = await archiveStore.archiveSegments(db, archive)
      if (segments.length === 0) throw new NotFound()
      if (segments.some(({ damagedAt }) => damagedAt !== null))
        throw await damagedError(db, archive)
      const plan = planArchive(segments)
      const name = archiveName({ ...archive, createdAt: new Date(archive.createdAt) })

      const range = requestedRange(request.headers, plan)
      const begin = () =>
        setRangeHeaders(reply, plan, range).headers({
          'content-type': ARCHIVE_TYPE,
          'content-disposition': `attachment; filename=${name}`,
          'cache-control': 'private, no-store',
        })
      if (range === null) return begin().send()
      // Without a stream, Fastify would replace the content-length by 0.
      if (request.method === 'HEAD') return begin().send(Readable.from([]))
      await recordDownload(request, archive, guid)
      admission.stream(reply.raw, archive.ownerId)
      await sendArchive(dependencies, request, reply, {
        archive,
        guid,
        segments,
        plan,
        range,
        begin,
      })
      return reply
    },
  )
}

const RECORDED_FOR_MS = 3_600_000
const MAX_REMEMBERED = 1000

/** Returns a function that records a download, but not each of its ranges: at most once an hour for each archive and address. */
function downloadRecorder(dependencies: DownloadDependencies) {
  const recordedAt = new Map<string, number>()
  return async (request: FastifyRequest, { id, ownerId, login }: FoundArchive, guid: string) => {
    const key = `${guid} ${addressKey(request.ip)}`
    const last = recordedAt.get(key)
    if (last !== undefined && Math.abs(dependencies.now() - last) < RECORDED_FOR_MS) return
    if (recordedAt.size >= MAX_REMEMBERED) recordedAt.clear()
    recordedAt.set(key, dependencies.now())
    const about = aboutMigration({ id, guid, owner: { id: ownerId, login } })
    await recordAccess(dependencies, actorOf(request), 'archive.download', about)
  }
}

const damagedError = async (db: Db, archive: FoundArchive) =>
  archiveDamaged(await archiveStore.damagedRepositoriesIn(db, archive))

interface ArchiveToSend {
  archive: FoundArchive
  guid: string
  segments: readonly CheckedSegment[]
  plan: ArchivePlan
  range: ByteRange | undefined
  /** Sets the status and headers of the response. */
  begin: () => FastifyReply
}

/** An intact read of a segment is recorded as a check if its last check is older than this. */
const RECHECK_AFTER_MS = 24 * 60 * 60 * 1000

/** Sends the range and counts the outcome. Logs every outcome except a complete download. */
async function sendArchive(
  dependencies: DownloadDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { archive, guid, segments, plan, range = { start: 0, end: plan.length }, begin }: ArchiveToSend,
): Promise<void> {
  const { db, blobs, downloads, log, now } = dependencies
  const client = watchClient(reply.raw)
  const logFields = () => ({
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
    downloads.add('complete')
  } catch (err) {
    const isDisconnected = client.signal.aborted || err instanceof ClientDisconnected
    downloads.add(isDisconnected ? 'ended_by_client' : 'failed')
    const isDeleted = err instanceof BlobNotFound && (await hasBeenDeleted(dependencies, guid))
    if (isDisconnected) log.info(logFields(), 'the client ended a download')
    else if (isDeleted) log.info(logFields(), 'the archive was deleted during a download')
    else log.error({ err, ...logFields() }, 'an archive cannot be read')
    // Before the connection is closed: a client that resumes the download must get an error, not the rest.
    const isRecorded = err instanceof SegmentDamaged && (await recordDamage(dependencies, err))
    if (!reply.sent && isDeleted) throw new NotFound()
    if (!reply.sent) throw isRecorded ? await damagedError(db, archive) : unavailable()
    // The headers are sent already, so only a broken connection shows the client that the body is incomplete.
    reply.raw.destroy()
  }
  const since = now() - RECHECK_AFTER_MS
  const keys = segments
    .filter(({ key, checkedAt }) => verified.has(key) && checkedAt < since)
    .map(({ key }) => key)
  await recordVerifiedReads(db, keys, now()).catch((err: unknown) =>
    log.warn({ err }, 'could not record that stored data is intact'),
  )
}

/** Returns whether the archive was deleted or has expired; false if the database does not respond. */
const hasBeenDeleted = ({ db, now }: DownloadDependencies, guid: string): Promise<boolean> =>
  archiveStore.findArchive(db, guid, now()).then(
    (archive) => !archive,
    () => false,
  )

/** Returns false if the damage could not be recorded or the archive was deleted in the meantime. */
async function recordDamage({ db, log, now }: DownloadDependencies, { key }: SegmentDamaged) {
  try {
    const recorded = await db.transaction().execute((tx) => recordDamaged(tx, [key], now()))
    return recorded.length > 0
  } catch (err) {
    log.error({ err, segment: key }, 'could not record that stored data is damaged')
    return false
  }
}
