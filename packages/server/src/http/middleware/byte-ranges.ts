import type { IncomingHttpHeaders } from 'node:http'
import type { ByteRange } from '@godwit/lib/bytes'
import type { FastifyReply } from 'fastify'

/** A file that is sent in whole or in part. The ETag names its content. */
export type RangedFile = { etag: string; length: number }

/** Returns what `byteRange` returns, or undefined if `if-range` names other content than the file now has. */
export const requestedRange = (
  { range, 'if-range': ifRange }: IncomingHttpHeaders,
  { etag, length }: RangedFile,
): ByteRange | null | undefined =>
  ifRange && ifRange !== etag ? undefined : byteRange(range, length)

/** Sets the status and the headers of a response with the requested range; `null` becomes 416. */
export function setRangeHeaders(
  reply: FastifyReply,
  { etag, length }: RangedFile,
  range: ByteRange | null | undefined,
): FastifyReply {
  reply.headers({ 'accept-ranges': 'bytes', etag })
  if (range === null) return reply.code(416).header('content-range', `bytes */${length}`)
  const { start, end } = range ?? { start: 0, end: length }
  if (range) reply.code(206).header('content-range', `bytes ${start}-${end - 1}/${length}`)
  return reply.header('content-length', end - start)
}

/**
 * Returns the range that a `range` header requests, or null if it is outside of the file. Returns undefined without a header
 * and for several ranges, an invalid range or another unit: the response is then the whole file.
 */
export function byteRange(header: string | undefined, length: number) {
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
