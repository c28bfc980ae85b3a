import { setTimeout as sleep } from 'node:timers/promises'
import { asTemporaryError, RequestRejected, retryPause, ServerUnreachable } from './errors.ts'
import { readRetryAfter } from './explain-error.ts'
import type { MigrationsApi } from './migrations-api.ts'

/** Where the bytes of an archive go. It may have some of them already. */
export interface Target {
  /** How many bytes it has, of the archive with this validator. */
  readonly position: number
  readonly etag: string | undefined
  /** Forgets what it has: the bytes that follow are the first of an archive with this validator. */
  begin(etag: string | undefined): Promise<void>
  /** `remainingBytes` is how many are still to come, these among them, where the server says so. */
  write(bytes: Uint8Array, remainingBytes?: number): Promise<void>
}

export interface Downloading {
  signal: AbortSignal
  /** `total` is undefined where the server does not say. */
  onBytes(position: number, total: number | undefined): void
  /** Told before it goes on where it was cut off. */
  onError(error: Error, position: number): void
}

const MAX_VAIN_ATTEMPTS = 6
const FIRST_PAUSE_MS = 250

/** Until the target has all of it, however often the connection breaks, as long as each attempt gets further. */
export async function downloadArchive(
  api: MigrationsApi,
  id: number,
  target: Target,
  downloading: Downloading,
): Promise<void> {
  const { signal, onError } = downloading
  for (let vain = 0; ; vain++) {
    const before = target.position
    try {
      return await attempt(api, id, target, downloading)
    } catch (error) {
      signal.throwIfAborted()
      const outage = asTemporaryError(error, api.server.url)
      if (!outage) throw error
      if (target.position > before) vain = 0
      if (vain === MAX_VAIN_ATTEMPTS) throw outage
      onError(outage, target.position)
      await sleep(retryPause(outage, FIRST_PAUSE_MS * 2 ** vain), undefined, { signal })
    }
  }
}

/** The link is asked for each time: it lives for a few minutes only. */
async function attempt(
  api: MigrationsApi,
  id: number,
  target: Target,
  { signal, onBytes }: Downloading,
): Promise<void> {
  const answer = await follow(api, await api.archiveLink(id), rangeFrom(target), signal)
  const isContinued = answer.status === 206
  if (!answer.ok || (isContinued && !continues(answer, target))) {
    // What nobody reads would keep its connection.
    await answer.body?.cancel()
    if (isComplete(answer, target)) return
    throw await whyNot(api, answer, target)
  }
  if (!isContinued) await target.begin(strong(answer.headers.get('etag')))
  const length = Number(answer.headers.get('content-length') ?? Number.NaN)
  const total = Number.isNaN(length) ? undefined : target.position + length
  onBytes(target.position, total)
  for await (const bytes of answer.body ?? []) {
    await target.write(bytes, total && total - target.position)
    onBytes(target.position, total)
  }
  if (total !== undefined && target.position !== total)
    throw cutOff(api, `received ${target.position} of ${total} bytes`)
}

/** Why this answer has nothing for the target, which forgets what it has where that is of another archive. */
async function whyNot(api: MigrationsApi, { status }: Response, target: Target): Promise<Error> {
  if (status !== 416 && status !== 206) return cutOff(api, `${status} for the archive`)
  await target.begin(undefined)
  const why =
    status === 416 ? 'the archive is shorter than the downloaded part' : 'the archive has changed'
  return cutOff(api, `${why}: starting again`)
}

const MAX_REDIRECTS = 5

/** The token goes along only while it stays on the server's own origin. */
async function follow(
  { server, send }: MigrationsApi,
  link: URL,
  range: Record<string, string>,
  signal: AbortSignal,
): Promise<Response> {
  const home = new URL(server.url)
  let at = link
  // Compressed once more on the way, it would not be the bytes that the validator is of.
  const headers = { 'accept-encoding': 'identity', 'user-agent': server.userAgent, ...range }
  for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
    if (home.protocol === 'https:' && at.protocol !== 'https:')
      throw new RequestRejected(302, `${server.url} redirects to an address without encryption`)
    const answer = await send(at, { headers, redirect: 'manual', signal })
    const next = answer.status >= 300 && answer.status < 400 && answer.headers.get('location')
    if (!next) return unlessBusy(answer, at.origin === home.origin ? server.url : at.origin)
    await answer.body?.cancel()
    at = new URL(next, at)
  }
  throw new RequestRejected(302, `${server.url} redirects too often`)
}

async function unlessBusy(answer: Response, place: string): Promise<Response> {
  const busy = readRetryAfter(answer, place)
  if (!busy) return answer
  await answer.body?.cancel()
  throw busy
}

/** Only a strong validator promises that the rest is of the same bytes. */
function rangeFrom({ position, etag }: Target): Record<string, string> {
  return position > 0 && etag !== undefined ? { range: `bytes=${position}-`, 'if-range': etag } : {}
}

const strong = (etag: string | null): string | undefined =>
  etag?.startsWith('"') ? etag : undefined

/** Nothing is left to be sent of what is all there. */
function isComplete({ status, headers }: Response, { position }: Target): boolean {
  return status === 416 && headers.get('content-range') === `bytes */${position}`
}

function continues({ headers }: Response, { position, etag }: Target): boolean {
  const isHere = headers.get('content-range')?.startsWith(`bytes ${position}-`)
  const sent = headers.get('etag')
  return Boolean(isHere) && (sent === null || sent === etag)
}

const cutOff = ({ server }: MigrationsApi, why: string) =>
  new ServerUnreachable(server.url, new Error(why))
