import { inUnits } from '../../../ground/quantities.ts'
import type { FileToFetch } from '../../discussions.ts'
import { ForgeRefused, TooLarge, WaitUntil } from '../../forge-errors.ts'
import type { ForgeClient } from './forge-client.ts'
import type { HttpAnswer } from './http-answer.ts'
import { whyUnreachable } from './unreachable.ts'

const TRIES = 3
const IDLE_MS = 60_000
const AWAY_MS = 30_000
/** Whoever asks for a file whose length is not listed must find room for it first. Forges take attachments of 2 GiB at most. */
const MAX_UNLISTED_BYTES = 8_000_000_000

/**
 * The bytes of a file, once and in order, however often the connection breaks; it is whole when it has the length that the forge
 * says. Where the forge does not list one, `maxUnlisted` is the most that is taken.
 */
export async function* openFile(
  client: ForgeClient,
  { source, size }: FileToFetch,
  signal: AbortSignal,
  maxUnlisted = MAX_UNLISTED_BYTES,
): AsyncGenerator<Uint8Array> {
  let [received, expected] = [0, size]
  for (let tries = 1; ; tries++) {
    const answer = await client.download(source, signal)
    expected ??= lengthOf(answer)
    if (size === null && (expected ?? 0) > maxUnlisted) {
      answer.discard()
      throw tooLarge(client, source, maxUnlisted)
    }
    try {
      let skip = received
      for await (const piece of piecesOf(answer, signal)) {
        const rest = piece.subarray(Math.min(skip, piece.length))
        skip -= piece.length - rest.length
        received += rest.length
        if (expected !== null && received > expected) throw wrongLength(client, source, expected)
        if (size === null && received > maxUnlisted) throw tooLarge(client, source, maxUnlisted)
        if (rest.length > 0) yield rest
      }
      if (expected === null || received === expected) return
      if (isWholeAnswer(answer, received)) throw wrongLength(client, source, expected)
      throw new TypeError('the answer ended early')
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof ForgeRefused) throw error
      if (tries === TRIES) throw away(client, source, error)
    }
  }
}

const lengthOf = ({ header }: HttpAnswer): number | null => {
  const said = header('content-length') ?? ''
  return /^\d{1,15}$/.test(said) && !header('content-encoding') ? Number(said) : null
}

/** Shorter than listed, and all that there is. */
const isWholeAnswer = (answer: HttpAnswer, received: number) => lengthOf(answer) === received

const wrongLength = ({ url }: ForgeClient, source: string, expected: number) =>
  new ForgeRefused(200, `${url}${source} does not have the ${expected} bytes that the forge says`)

const tooLarge = ({ url }: ForgeClient, source: string, bytes: number) =>
  new TooLarge(
    200,
    `${url}${source} is larger than ${inUnits(bytes)}, the most that is taken of a file whose size the forge does not list`,
  )

const away = ({ url }: ForgeClient, source: string, error: unknown) =>
  new WaitUntil(Date.now() + AWAY_MS, 'away', whyUnreachable(`${url}${source}`, error), {
    cause: error,
  })

/** Ends where the next piece does not come. */
async function* piecesOf(answer: HttpAnswer, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const pieces = answer.body[Symbol.asyncIterator]()
  try {
    for (;;) {
      signal.throwIfAborted()
      const { done, value } = await within(IDLE_MS, pieces.next())
      if (done) return
      yield value
    }
  } finally {
    answer.discard()
  }
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new TypeError('no further bytes came in time')), ms)
  return Promise.race([promise, late.promise]).finally(() => clearTimeout(timer))
}
