import { setTimeout as sleep } from 'node:timers/promises'
import { matches, type Schema, type Static } from '../schemas/schema.ts'
import * as errors from './errors.ts'
import { readEvents } from './event-stream.ts'
import type { MigrationsApi } from './migrations-api.ts'
import * as responses from './responses.ts'

/** A change of a running migration. The last update is always its end. */
export type MigrationUpdate =
  | { state: string }
  | { repository: responses.RepositoryProgressResponse }
  | { totals: responses.TotalsResponse }
  | { end: responses.EndResponse }

export interface WatchOptions {
  signal: AbortSignal
  /** Called once per outage, before the first retry. */
  onError(error: Error): void
}

const MIN_POLL_INTERVAL_MS = 250
const MAX_POLL_INTERVAL_MS = 10_000
/** Godwit's event streams have a heartbeat every 15 seconds. */
const SILENCE_TIMEOUT_MS = 45_000

/** Watches a migration by the server's event stream, or by polling its state where the server has no stream. */
export async function* watchMigration(
  api: MigrationsApi,
  id: number,
  { signal, onError }: WatchOptions,
): AsyncGenerator<MigrationUpdate> {
  // A missing migration fails here, before any retry.
  const first = await api.status(id)
  if (first && !responses.hasEnded(first.migration)) yield { state: first.migration.state }
  const stream = { lastEventId: '', isSupported: true }
  const backoff = outageBackoff(api.server.url, onError)
  while (stream.isSupported) {
    try {
      for await (const update of readStream(api, id, stream, signal)) {
        backoff.reset()
        yield update
        if ('end' in update) return
      }
    } catch (error) {
      signal.throwIfAborted()
      await sleep(backoff.pauseAfter(error), undefined, { signal })
    }
  }
  yield* poll(api, id, backoff, signal)
}

/** Reads one event stream to its end, which may come before the end of the migration. */
async function* readStream(
  api: MigrationsApi,
  id: number,
  stream: { lastEventId: string; isSupported: boolean },
  stopped: AbortSignal,
): AsyncGenerator<MigrationUpdate> {
  using silence = silenceTimeout()
  const signal = AbortSignal.any([stopped, silence.signal])
  // While the client waits for the time in Retry-After, there is no stream to be silent.
  const onWait = (seconds: number) => silence.restart(seconds * 1000 + SILENCE_TIMEOUT_MS)
  const response = await api.events(id, stream.lastEventId, { signal, onWait })
  stream.isSupported = response !== undefined
  if (!response) return
  const onChunk = () => silence.restart(SILENCE_TIMEOUT_MS)
  for await (const { name, data, id: eventId } of readEvents(response.body!, onChunk)) {
    stream.lastEventId = eventId ?? stream.lastEventId
    if (name === 'repository')
      yield { repository: parse(data, responses.repositoryProgressResponse) }
    if (name === 'progress') yield { totals: parse(data, responses.totalsResponse) }
    if (name === 'end') yield { end: parse(data, responses.endResponse) }
  }
  throw new errors.ServerUnreachable(api.server.url, new Error('the event stream ended'))

  function parse<S extends Schema>(data: string, schema: S): Static<S> {
    try {
      const value: unknown = JSON.parse(data)
      if (matches(schema, value)) return value
    } catch {
      // Invalid JSON is reported like JSON of another shape.
    }
    throw errors.notThisApi(api.server.url)
  }
}

function silenceTimeout() {
  const silence = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const restart = (ms: number) => {
    clearTimeout(timer)
    timer = setTimeout(() => silence.abort(), ms)
  }
  restart(SILENCE_TIMEOUT_MS)
  return { signal: silence.signal, restart, [Symbol.dispose]: () => clearTimeout(timer) }
}

/** Polls the state with the last ETag, so that an unchanged migration costs the server little. */
async function* poll(api: MigrationsApi, id: number, backoff: OutageBackoff, signal: AbortSignal) {
  let etag: string | undefined
  let state = ''
  for (let pause = MIN_POLL_INTERVAL_MS; ; pause = Math.min(pause * 1.5, MAX_POLL_INTERVAL_MS)) {
    try {
      const changed = await api.status(id, etag)
      backoff.reset()
      if (changed) {
        etag = changed.etag
        if (changed.migration.state !== state) pause = MIN_POLL_INTERVAL_MS
        state = changed.migration.state
        if (responses.hasEnded(changed.migration)) {
          yield { end: { state, reason: null } }
          return
        }
      }
      yield { state }
    } catch (error) {
      signal.throwIfAborted()
      await sleep(backoff.pauseAfter(error), undefined, { signal })
    }
    await sleep(pause, undefined, { signal })
  }
}

/** How long a server may be unavailable: it may be restarting. */
const OUTAGE_TIMEOUT_MS = 5 * 60_000
/** The longest total time that Retry-After headers of an unavailable server can add. */
const MAX_RETRY_AFTER_MS = 60 * 60_000
const FIRST_PAUSE_MS = 250
const MAX_PAUSE_MS = 5_000

type OutageBackoff = ReturnType<typeof outageBackoff>

/** Exponential backoff while a server is unavailable. Each pause is at least as long as the server's Retry-After. */
export function outageBackoff(url: string, onError: (outage: Error) => void) {
  let since: number | undefined
  let pause = FIRST_PAUSE_MS
  let retryAfterMs = 0
  return {
    /** Must be called when the server has responded. */
    reset(): void {
      since = undefined
      pause = FIRST_PAUSE_MS
      retryAfterMs = 0
    },
    /** Returns the pause before the next attempt. Throws a permanent error, or a temporary one that has lasted too long. */
    pauseAfter(error: unknown): number {
      const outage = errors.asTemporaryError(error, url)
      if (!outage) throw error
      if (since === undefined) onError(outage)
      since ??= performance.now()
      const wait = errors.retryPause(outage, pause)
      // A server that limits requests (4xx) is available: its Retry-After has no total limit.
      if (outage instanceof errors.ServerBusy && outage.status >= 500) retryAfterMs += wait - pause
      if (performance.now() - since > OUTAGE_TIMEOUT_MS || retryAfterMs > MAX_RETRY_AFTER_MS)
        throw outage
      // Time that the server asked for does not count towards OUTAGE_TIMEOUT_MS.
      since += wait - pause
      pause = Math.min(pause * 2, MAX_PAUSE_MS)
      return wait
    },
  }
}
