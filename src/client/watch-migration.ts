import { setTimeout as sleep } from 'node:timers/promises'
import { readEvents } from '../wire/event-stream.ts'
import { matches, type Schema, type Static } from '../wire/schema.ts'
import { notThisApi, ServerUnreachable } from './errors.ts'
import type { MigrationsApi } from './migrations-api.ts'
import { type OutagePauses, outagePauses } from './outage-pauses.ts'
import {
  type EndResponse,
  endResponse,
  hasEnded,
  type RepositoryProgressResponse,
  repositoryProgressResponse,
  type TotalsResponse,
  totalsResponse,
} from './responses.ts'

/** What is seen of a migration while it runs; the last is always its end. */
export type MigrationUpdate =
  | { state: string }
  | { repository: RepositoryProgressResponse }
  | { totals: TotalsResponse }
  | { end: EndResponse }

export interface Watching {
  signal: AbortSignal
  /** Told once when the server stops answering, before it is tried again. */
  onError(error: Error): void
}

const SHORTEST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** Godwit's own streams have a beat every fifteen seconds. */
const SILENCE_MS = 45_000

/** Live where the server tells of progress by itself, and by asking for its state where not. */
export async function* watchMigration(
  api: MigrationsApi,
  id: number,
  watching: Watching,
): AsyncGenerator<MigrationUpdate> {
  // Of a migration that is not there, nobody should wait for anything.
  const first = await api.status(id)
  if (first && !hasEnded(first.migration)) yield { state: first.migration.state }
  const listener = { after: '', isTold: true }
  const pauses = outagePauses(api.server.url, watching.onError)
  while (listener.isTold) {
    try {
      for await (const sighting of listen(api, id, listener, watching.signal)) {
        pauses.reset()
        yield sighting
        if ('end' in sighting) return
      }
    } catch (error) {
      watching.signal.throwIfAborted()
      await sleep(pauses.after(error), undefined, { signal: watching.signal })
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
): AsyncGenerator<MigrationUpdate> {
  using silence = silenceAlarm()
  const signal = AbortSignal.any([stopped, silence.signal])
  // A pause that the server asks for is no silence.
  const onWait = (seconds: number) => silence.endsWithin(seconds * 1000 + SILENCE_MS)
  const answer = await api.events(id, listener.after, { signal, onWait })
  listener.isTold = answer !== undefined
  if (!answer) return
  const onChunk = () => silence.endsWithin(SILENCE_MS)
  for await (const { name, data, id: order } of readEvents(answer.body!, onChunk)) {
    listener.after = order ?? listener.after
    if (name === 'repository') yield { repository: read(data, repositoryProgressResponse) }
    if (name === 'progress') yield { totals: read(data, totalsResponse) }
    if (name === 'end') yield { end: read(data, endResponse) }
  }
  throw new ServerUnreachable(api.server.url, new Error('the event stream ended'))

  function read<S extends Schema>(data: string, schema: S): Static<S> {
    try {
      const value: unknown = JSON.parse(data)
      if (matches(schema, value)) return value
    } catch {
      // Not even JSON.
    }
    throw notThisApi(api.server.url)
  }
}

/** Aborts where nothing is heard for too long. */
function silenceAlarm() {
  const silence = new AbortController()
  let alarm: NodeJS.Timeout | undefined
  const endsWithin = (ms: number) => {
    clearTimeout(alarm)
    alarm = setTimeout(() => silence.abort(), ms)
  }
  endsWithin(SILENCE_MS)
  return { signal: silence.signal, endsWithin, [Symbol.dispose]: () => clearTimeout(alarm) }
}

/** By asking again and again; what has not changed costs the server nothing. */
async function* poll(
  api: MigrationsApi,
  id: number,
  pauses: OutagePauses,
  signal: AbortSignal,
): AsyncGenerator<MigrationUpdate> {
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
      await sleep(pauses.after(error), undefined, { signal })
    }
    await sleep(pause, undefined, { signal })
  }
}
