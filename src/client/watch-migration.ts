import { setTimeout as sleep } from 'node:timers/promises'
import { endShape, repositoryProgressShape, type Shape, totalsShape } from './check-shape.ts'
import { asTemporaryError, notThisApi, pauseAfter, ServerUnreachable } from './errors.ts'
import { readEvents } from './event-stream.ts'
import type { MigrationsApi } from './migrations-api.ts'
import { type EndJson, hasEnded, type RepositoryProgressJson, type TotalsJson } from './wire.ts'

/** What is seen of a migration while it runs; the last is always its end. */
export type Sighting =
  | { state: string }
  | { repository: RepositoryProgressJson }
  | { totals: TotalsJson }
  | { end: EndJson }

export interface Watching {
  signal: AbortSignal
  /** Told once when the server stops answering, before it is tried again. */
  onError(error: Error): void
}

/** How long a server may be away, for it may only be starting again. */
const OUTAGE_TIMEOUT_MS = 5 * 60_000
const SHORTEST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** Godwit's own streams have a beat every fifteen seconds. */
const SILENCE_MS = 45_000

/** Live where the server tells of progress by itself, and by asking for its state where not. */
export async function* watchMigration(
  api: MigrationsApi,
  id: number,
  watching: Watching,
): AsyncGenerator<Sighting> {
  // Of a migration that is not there, nobody should wait for anything.
  const first = await api.status(id)
  if (first && !hasEnded(first.migration)) yield { state: first.migration.state }
  const listener = { after: '', isTold: true }
  const pauses = pausesWith(api.server.url, watching)
  while (listener.isTold) {
    try {
      for await (const sighting of listen(api, id, listener, watching.signal)) {
        pauses.reset()
        yield sighting
        if ('end' in sighting) return
      }
    } catch (error) {
      watching.signal.throwIfAborted()
      await pauses.waitAfter(error)
    }
  }
  yield* poll(api, id, pauses, watching.signal)
}

/** By the server's own events; ends when the stream does, which may be before the migration. */
async function* listen(
  api: MigrationsApi,
  id: number,
  listener: { after: string; isTold: boolean },
  stopped: AbortSignal,
): AsyncGenerator<Sighting> {
  const silence = new AbortController()
  const alarm = setTimeout(() => silence.abort(), SILENCE_MS)
  const signal = AbortSignal.any([stopped, silence.signal])
  try {
    const answer = await api.events(id, listener.after, signal)
    listener.isTold = answer !== undefined
    if (!answer) return
    async function* heard(): AsyncGenerator<Uint8Array> {
      for await (const bytes of answer!.body!) {
        alarm.refresh()
        yield bytes
      }
    }
    for await (const { name, data, id: order } of readEvents(heard())) {
      listener.after = order ?? listener.after
      if (name === 'repository') yield { repository: read(data, repositoryProgressShape) }
      if (name === 'progress') yield { totals: read(data, totalsShape) }
      if (name === 'end') yield { end: read(data, endShape) }
    }
    throw new ServerUnreachable(api.server.url, new Error('the event stream ended'))
  } finally {
    clearTimeout(alarm)
  }

  function read<T>(data: string, shape: Shape<T>): T {
    try {
      const value: unknown = JSON.parse(data)
      if (shape(value)) return value
    } catch {
      // Not even JSON.
    }
    throw notThisApi(api.server.url)
  }
}

/** By asking again and again; what has not changed costs the server nothing. */
async function* poll(
  api: MigrationsApi,
  id: number,
  pauses: ReturnType<typeof pausesWith>,
  signal: AbortSignal,
): AsyncGenerator<Sighting> {
  let etag: string | undefined
  let state = ''
  for (let pause = SHORTEST_PAUSE_MS; ; pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    try {
      const seen = await api.status(id, etag)
      pauses.reset()
      if (seen) {
        etag = seen.etag
        if (seen.migration.state !== state) pause = SHORTEST_PAUSE_MS
        state = seen.migration.state
        if (hasEnded(seen.migration)) {
          yield { end: { state, reason: null } }
          return
        }
      }
      yield { state }
    } catch (error) {
      signal.throwIfAborted()
      await pauses.waitAfter(error)
    }
    await sleep(pause, undefined, { signal })
  }
}

/** Waits a little, longer each time, after what may pass; throws what will not, or has lasted too long. */
function pausesWith(url: string, { signal, onError }: Watching) {
  let since: number | undefined
  let pause = SHORTEST_PAUSE_MS
  return {
    reset(): void {
      since = undefined
      pause = SHORTEST_PAUSE_MS
    },
    async waitAfter(error: unknown): Promise<void> {
      const outage = asTemporaryError(error, url)
      if (!outage) throw error
      if (since === undefined) onError(outage)
      since ??= performance.now()
      if (performance.now() - since > OUTAGE_TIMEOUT_MS) throw outage
      const wait = pauseAfter(outage, pause)
      // What the server itself asks for is not time that it was away.
      since += wait - pause
      await sleep(wait, undefined, { signal })
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS / 2)
    },
  }
}
