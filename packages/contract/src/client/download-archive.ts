import { setTimeout as sleep } from 'node:timers/promises'
import {
  asTemporaryError,
  busyErrorOf,
  RequestRejected,
  retryPause,
  ServerUnreachable,
  TemporaryError,
  WRONG_LINK,
} from './errors.ts'
import type { Send, Server } from './send-request.ts'

/** The server of an archive, such as a MigrationsApi. Commands for other servers pass their own. */
interface ArchiveServer {
  server: Pick<Server, 'url' | 'userAgent'>
  send: Send
  archiveLink(id: number): Promise<URL>
}

/** The destination of an archive's bytes. It may hold the first part of them already. */
export interface DownloadTarget {
  /** How many bytes of the archive with this ETag it holds. */
  readonly position: number
  readonly etag: string | undefined
  /** Discards all bytes. The next ones are the first of the archive with this ETag. */
  begin(etag: string | undefined): Promise<void>
  /** `remainingBytes` is the size of `bytes` and all that follow; undefined if the server does not send a length. */
  write(bytes: Uint8Array, remainingBytes?: number): Promise<void>
}

export interface DownloadOptions {
  signal: AbortSignal
  /** `total` is undefined if the server does not send a length. */
  onBytes(position: number, total: number | undefined): void
  /** Called before a retry, which continues at `position`. */
  onError(error: Error, position: number): void
}

const MAX_RETRIES_WITHOUT_PROGRESS = 6
const FIRST_PAUSE_MS = 250

/** Downloads an archive. A temporary error is retried as long as attempts make progress. */
export async function downloadArchive(
  api: ArchiveServer,
  id: number,
  target: DownloadTarget,
  options: DownloadOptions,
): Promise<void> {
  const { signal, onError } = options
  for (let failures = 0; ; failures++) {
    const before = target.position
    try {
      return await attempt(api, id, target, options)
    } catch (error) {
      signal.throwIfAborted()
      const outage = asTemporaryError(error, api.server.url)
      if (!outage) throw error
      if (target.position > before) failures = 0
      if (failures === MAX_RETRIES_WITHOUT_PROGRESS) throw outage
      onError(outage, target.position)
      await sleep(retryPause(outage, FIRST_PAUSE_MS * 2 ** failures), undefined, { signal })
    }
  }
}

/** Each attempt requests a new link, because a link is valid for a few minutes only. */
async function attempt(
  api: ArchiveServer,
  id: number,
  target: DownloadTarget,
  { signal, onBytes }: DownloadOptions,
): Promise<void> {
  const response = await follow(api, await api.archiveLink(id), rangeFrom(target), signal)
  const isPartial = response.status === 206
  if (!response.ok || (isPartial && !continues(response, target))) {
    // An unread body would keep its connection open.
    await response.body?.cancel()
    if (isComplete(response, target)) return
    throw await rejectResponse(api, response, target)
  }
  if (!isPartial) await target.begin(strongEtag(response.headers.get('etag')))
  const length = Number(response.headers.get('content-length') ?? Number.NaN)
  const total = Number.isNaN(length) ? undefined : target.position + length
  onBytes(target.position, total)
  for await (const bytes of response.body ?? []) {
    await target.write(bytes, total && total - target.position)
    onBytes(target.position, total)
  }
  if (total !== undefined && target.position !== total)
    throw new ServerUnreachable(
      api.server.url,
      new Error(`received ${target.position} of ${total} bytes`),
    )
}

/** Returns the error for a response that does not continue the download. If the archive has changed, discards the target's bytes. */
async function rejectResponse(
  api: ArchiveServer,
  { status, url }: Response,
  target: DownloadTarget,
): Promise<TemporaryError | RequestRejected> {
  if (status !== 416 && status !== 206) {
    // The path and query of a link may be a credential.
    const { origin } = new URL(url)
    const isSameOrigin = origin === new URL(api.server.url).origin
    const advice = isSameOrigin ? '' : `; ${api.server.url} sent this link: ${WRONG_LINK}`
    const message = `${origin} responded ${status} to the archive download${advice}`
    // Another new link would be refused like this one.
    const isRefused = [400, 401, 403, 404, 410].includes(status)
    return isRefused ? new RequestRejected(status, message) : new TemporaryError(message)
  }
  await target.begin(undefined)
  return new TemporaryError(
    status === 416
      ? 'the archive is shorter than the downloaded part'
      : 'the archive has changed during the download',
  )
}

const MAX_REDIRECTS = 5

/** Follows redirects. `send` adds the token only on the server's own origin. */
async function follow(
  { server, send }: ArchiveServer,
  link: URL,
  range: Record<string, string>,
  signal: AbortSignal,
): Promise<Response> {
  const home = new URL(server.url)
  let at = link
  // With another encoding, the bytes would not be those that the ETag and the range refer to.
  const headers = { 'accept-encoding': 'identity', 'user-agent': server.userAgent, ...range }
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    if (home.protocol === 'https:' && at.protocol !== 'https:')
      throw new RequestRejected(302, `${server.url} redirects to an address without encryption`)
    const response = await send(at, { headers, redirect: 'manual', signal })
    const { status } = response
    const next = status >= 300 && status < 400 && response.headers.get('location')
    if (!next) return throwIfBusy(response, at.origin === home.origin ? server.url : at.origin)
    await response.body?.cancel()
    at = new URL(next, at)
  }
  throw new RequestRejected(302, `${server.url} redirects too often`)
}

async function throwIfBusy(response: Response, server: string): Promise<Response> {
  const busy = busyErrorOf(response, server)
  if (!busy) return response
  await response.body?.cancel()
  throw busy
}

/** A range is requested only with a strong ETag: a weak one does not promise identical bytes. */
const rangeFrom = ({ position, etag }: DownloadTarget): Record<string, string> =>
  position > 0 && etag !== undefined ? { range: `bytes=${position}-`, 'if-range': etag } : {}

const strongEtag = (etag: string | null): string | undefined =>
  etag?.startsWith('"') ? etag : undefined

/** Returns whether the server reports that the target already has all bytes of the archive. */
const isComplete = ({ status, headers }: Response, { position }: DownloadTarget): boolean =>
  status === 416 && headers.get('content-range') === `bytes */${position}`

function continues({ headers }: Response, { position, etag }: DownloadTarget): boolean {
  const startsHere = headers.get('content-range')?.startsWith(`bytes ${position}-`)
  const sentEtag = headers.get('etag')
  return Boolean(startsHere) && (sentEtag === null || sentEtag === etag)
}
