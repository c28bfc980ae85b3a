import { formatBytes } from '@godwit/lib/quantities'
import type { FileToFetch } from '../discussions.ts'
import {
  FileDamaged,
  FileTooLarge,
  HostRequestFailed,
  HostUnavailable,
  undefinedIf,
} from '../host-errors.ts'
import { confirmAbsence } from './confirm-absence.ts'
import { type ApiClient, RETRY_AFTER_MS } from './http-client.ts'
import { explainConnectionError, type HttpResponse } from './http-response.ts'

const MAX_ATTEMPTS = 3
/** A download is aborted if fewer bytes than this arrive while it waits for `IDLE_TIMEOUT_MS`. */
const MIN_PROGRESS_BYTES = 64 * 1024
const IDLE_TIMEOUT_MS = 60_000
/** Attempts that end within this distance count as ending at the same offset. A broken connection may lose the last bytes. */
const SAME_END_BYTES = 1024 * 1024
/** The caller reserves this much disk space for a file whose size is not listed. Hosts accept attachments of up to 2 GiB. */
const MAX_UNLISTED_BYTES = 8_000_000_000

/**
 * Yields the bytes of a file once and in order, even if the connection breaks. The file is complete when it has the size that the
 * host lists. If the host lists no size, `maxUnlisted` is the limit. Rejects with FileDamaged if the host sends another size, or
 * if all attempts end at about the same offset while the host responds to other requests: Gitea does so if the file on its disk is
 * truncated.
 */
export async function* openFile(
  client: ApiClient,
  { source, size }: FileToFetch,
  signal: AbortSignal,
  { maxUnlisted = MAX_UNLISTED_BYTES, idleMs = IDLE_TIMEOUT_MS } = {},
): AsyncGenerator<Uint8Array> {
  const url = `${client.url}${source}`
  let [received, expected] = [0, size]
  let firstEnd: number | undefined
  for (let attempts = 1; ; attempts++) {
    const download = () => client.download(source, signal)
    const response = await confirmAbsence(client, download, signal, { isDownload: true })
    const length = contentLength(response)
    expected ??= length
    const hasWrongSize = length !== null && expected !== null && length !== expected
    const isTooLarge = size === null && (expected ?? 0) > maxUnlisted
    if (hasWrongSize || isTooLarge) response.discard()
    if (hasWrongSize) throw wrongSize(url, `${length}`, expected!)
    if (isTooLarge) throw tooLarge(url, maxUnlisted)
    try {
      let skip = received
      for await (const chunk of readChunks(response, idleMs, signal)) {
        const rest = chunk.subarray(Math.min(skip, chunk.length))
        skip -= chunk.length - rest.length
        received += rest.length
        if (expected !== null && received > expected)
          throw wrongSize(url, `more than ${expected}`, expected)
        if (size === null && received > maxUnlisted) throw tooLarge(url, maxUnlisted)
        if (rest.length > 0) yield rest
      }
      if (expected === null || received === expected) return
      if (length === null) throw wrongSize(url, `${received}`, expected)
      throw new TypeError('the response was truncated')
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof HostRequestFailed) throw error
      firstEnd ??= received
      if (attempts < MAX_ATTEMPTS) continue
      if (expected === null || received - firstEnd >= SAME_END_BYTES) throw brokenOff(url, error)
      await client.probe(signal)
      throw wrongSize(url, `about ${received}`, expected)
    }
  }
}

/** Returns the name with which the host sends an attachment, or undefined if it sends none, as for texts before 1.17. */
export async function readFileName(client: ApiClient, uuid: string, signal: AbortSignal) {
  // If it fails, the download of the file will fail too, and report why.
  const isReported = (error: unknown) => error instanceof HostRequestFailed
  const download = client.download(`/attachments/${uuid}`, signal)
  const response = await download.catch(undefinedIf(isReported))
  response?.discard()
  return fileNameIn(response?.header('content-disposition') ?? '')
}

/** Old versions send UTF-8 in quotes, which Node reads as Latin-1, and do not escape quotes. */
export function fileNameIn(disposition: string): string | undefined {
  const parameter = (pattern: RegExp) => pattern.exec(disposition)?.[1]
  const bytes =
    parameter(/filename\*=utf-8''([^;\s]+)/i)?.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(Number.parseInt(hex, 16)),
    ) ??
    parameter(/filename="(.+)"/i)?.replace(/\\(["\\])/g, '$1') ??
    parameter(/filename=([^;\s"]+)/i)
  return bytes && Buffer.from(bytes, 'latin1').toString()
}

function contentLength({ header }: HttpResponse): number | null {
  const length = header('content-length') ?? ''
  return /^\d{1,15}$/.test(length) && !header('content-encoding') ? Number(length) : null
}

const wrongSize = (url: string, sent: string, listed: number) =>
  new FileDamaged(200, `the forge lists ${listed} bytes but sends ${sent}: ${url}`)

const tooLarge = (url: string, bytes: number) =>
  new FileTooLarge(
    200,
    `${url} is larger than ${formatBytes(bytes)}, the limit for files whose size the forge does not list`,
  )

const brokenOff = (url: string, cause: unknown) => {
  const dueAt = Date.now() + RETRY_AFTER_MS
  return new HostUnavailable(dueAt, 'unreachable', explainConnectionError(url, cause), { cause })
}

/** Yields the bytes of a response. Rejects with HostUnavailable if the connection breaks or stalls. */
export async function* readBytes(response: HttpResponse, url: string, signal: AbortSignal) {
  try {
    yield* readChunks(response, IDLE_TIMEOUT_MS, signal)
  } catch (error) {
    signal.throwIfAborted()
    throw brokenOff(url, error)
  }
}

/** Rejects if chunks arrive too slowly or not at all. Only the time spent waiting for them counts. */
async function* readChunks({ body }: HttpResponse, idleMs: number, signal: AbortSignal) {
  const fail = () => body.destroy(new TypeError('timed out waiting for data'))
  let [leftMs, progress, waitingSince] = [idleMs, 0, performance.now()]
  let timer = setTimeout(fail, leftMs)
  try {
    // When the loop ends, it destroys the body. `discard` would wait for the rest, which may never arrive.
    for await (const chunk of body) {
      clearTimeout(timer)
      leftMs -= performance.now() - waitingSince
      progress += chunk.length
      if (progress >= MIN_PROGRESS_BYTES) [leftMs, progress] = [idleMs, 0]
      yield chunk
      signal.throwIfAborted()
      waitingSince = performance.now()
      timer = setTimeout(fail, leftMs)
    }
  } finally {
    clearTimeout(timer)
  }
}
