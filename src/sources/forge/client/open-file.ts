import { inUnits } from '../../../lib/quantities.ts'
import type { FileToFetch } from '../../discussions.ts'
import { DamagedFile, ForgeRefused, TooLarge, WaitUntil } from '../../forge-errors.ts'
import { confirmAbsence } from './confirm-absence.ts'
import type { ForgeClient } from './forge-client.ts'
import type { HttpAnswer } from './http-answer.ts'
import { whyUnreachable } from './unreachable.ts'

const TRIES = 3
/** A minute of waiting must bring at least so many bytes, or the download is given up. */
const IDLE_MS = 60_000
const MIN_PROGRESS_BYTES = 64 * 1024
/** What was received last may be lost when a connection breaks. */
const SAME_PLACE_BYTES = 1024 * 1024
const UNAVAILABLE_MS = 30_000
/** Whoever asks for a file whose length is not listed must find room for it first. Forges take attachments of 2 GiB at most. */
const MAX_UNLISTED_BYTES = 8_000_000_000

/**
 * The bytes of a file, once and in order, however often the connection breaks; it is whole when it has the length that the forge
 * says. Where the forge does not list one, `maxUnlisted` is the most that is taken. Rejects with DamagedFile if the forge gives
 * another length, or if all answers break off at about the same place while the forge answers other requests: Gitea does so when
 * the file on its disk is truncated.
 */
export async function* openFile(
  client: ForgeClient,
  { source, size }: FileToFetch,
  signal: AbortSignal,
  { maxUnlisted = MAX_UNLISTED_BYTES, idleMs = IDLE_MS } = {},
): AsyncGenerator<Uint8Array> {
  let [received, expected] = [0, size]
  let firstEnd: number | undefined
  for (let tries = 1; ; tries++) {
    const ask = () => client.download(source, signal)
    const answer = await confirmAbsence(client, ask, signal, { isDownload: true })
    const length = lengthOf(answer)
    expected ??= length
    if (length !== null && expected !== null && length !== expected) {
      answer.discard()
      throw wrongLength(client, source, `${length}`, expected)
    }
    if (size === null && (expected ?? 0) > maxUnlisted) {
      answer.discard()
      throw tooLarge(client, source, maxUnlisted)
    }
    try {
      let skip = received
      for await (const piece of piecesOf(answer, idleMs, signal)) {
        const rest = piece.subarray(Math.min(skip, piece.length))
        skip -= piece.length - rest.length
        received += rest.length
        if (expected !== null && received > expected)
          throw wrongLength(client, source, `more than ${expected}`, expected)
        if (size === null && received > maxUnlisted) throw tooLarge(client, source, maxUnlisted)
        if (rest.length > 0) yield rest
      }
      if (expected === null || received === expected) return
      if (length === null) throw wrongLength(client, source, `${received}`, expected)
      throw new TypeError('the answer ended early')
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ForgeRefused) throw error
      firstEnd ??= received
      if (tries < TRIES) continue
      if (expected === null || received - firstEnd >= SAME_PLACE_BYTES)
        throw away(client, source, error)
      await client.get('/version', {}, signal)
      throw wrongLength(client, source, `about ${received}`, expected)
    }
  }
}

const lengthOf = ({ header }: HttpAnswer): number | null => {
  const said = header('content-length') ?? ''
  return /^\d{1,15}$/.test(said) && !header('content-encoding') ? Number(said) : null
}

const wrongLength = ({ url }: ForgeClient, source: string, given: string, listed: number) =>
  new DamagedFile(200, `the forge lists ${listed} bytes and gives ${given}: ${url}${source}`)

const tooLarge = ({ url }: ForgeClient, source: string, bytes: number) =>
  new TooLarge(
    200,
    `${url}${source} is larger than ${inUnits(bytes)}, the most that is taken of a file whose size the forge does not list`,
  )

const away = ({ url }: ForgeClient, source: string, error: unknown) =>
  new WaitUntil(Date.now() + UNAVAILABLE_MS, 'away', whyUnreachable(`${url}${source}`, error), {
    cause: error,
  })

/** Ends where the next pieces do not come, or too slowly. Only the time that is spent waiting for them counts. */
async function* piecesOf(
  answer: HttpAnswer,
  idleMs: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const pieces = answer.body[Symbol.asyncIterator]()
  let [leftMs, progress] = [idleMs, 0]
  try {
    for (;;) {
      signal.throwIfAborted()
      const askedAt = performance.now()
      const { done, value } = await within(leftMs, pieces.next())
      if (done) return
      leftMs -= performance.now() - askedAt
      progress += value.length
      if (progress >= MIN_PROGRESS_BYTES) [leftMs, progress] = [idleMs, 0]
      yield value
    }
  } finally {
    answer.discard()
  }
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new TypeError('the bytes do not come in time')), ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}
