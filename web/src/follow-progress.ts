import type { ServerEvent } from '../../src/wire/event-stream.ts'
import type { Api } from './api.ts'
import { UNCHANGED } from './api-calls.ts'
import { type Failure, failureOf } from './failure.ts'
import {
  isUnfinished,
  type Progress,
  type ProgressUpdate,
  type RepositoryProgress,
} from './wire.ts'

/** `live` by events, `polling` where no stream can be had, `reconnecting` where nothing can, `limited` for asking too often. */
export type Connection = 'connecting' | 'live' | 'polling' | 'reconnecting' | 'limited' | 'ended'

interface Listener {
  onProgress(progress: Progress): void
  onConnection(connection: Connection): void
  /** It cannot be followed at all: not there, or not the caller's. */
  onFailure(failure: Failure): void
}

const TELL_EVERY_MS = 100
const POLL_EVERY_MS = 2000
/** Whoever stands between may hold a stream back without a word. */
const FIRST_EVENT_WITHIN_MS = 5000
/** Streams have a beat every fifteen seconds. */
const SILENCE_MS = 45_000
const STREAM_ATTEMPTS = 2
const POLLS_BEFORE_NEXT_ATTEMPT = 15
const SHORTEST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 5000
const LIMITED_PAUSE_MS = 30_000

/** Follows a migration until it has ended or the signal says stop, whatever happens to the connection meanwhile. */
export async function followProgress(
  api: Api,
  id: number,
  listener: Listener,
  signal: AbortSignal,
): Promise<void> {
  const watch = progressWatch(api, id, listener, signal)
  let refusedStreams = 0
  let failures = 0
  while (!signal.aborted) {
    try {
      await watch.look()
      failures = 0
      if (watch.hasEnded()) return listener.onConnection('ended')
    } catch (error) {
      if (signal.aborted) return
      const failure = failureOf(error)
      if (failure.kind === 'not-found') return listener.onFailure(failure)
      const isLimited = failure.kind === 'limited'
      listener.onConnection(isLimited ? 'limited' : 'reconnecting')
      const backOff = Math.min(SHORTEST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS)
      await pause(isLimited ? LIMITED_PAUSE_MS : backOff, signal)
      failures += 1
      continue
    }
    if (refusedStreams < STREAM_ATTEMPTS) {
      const wasHeard = await watch.listen()
      refusedStreams = wasHeard ? 0 : refusedStreams + 1
      // Whoever cuts every stream short is not to be asked without end.
      await pause(SHORTEST_PAUSE_MS, signal)
    } else {
      listener.onConnection('polling')
      await pause(POLL_EVERY_MS, signal)
      refusedStreams += 1
      if (refusedStreams > STREAM_ATTEMPTS + POLLS_BEFORE_NEXT_ATTEMPT) refusedStreams = 0
    }
  }
}

function progressWatch(api: Api, id: number, listener: Listener, signal: AbortSignal) {
  let known: Progress | undefined
  let places = new Map<string, number>()
  let etag: string | undefined
  let lastEventId = '0'
  let isTellingSoon = false

  /** Thousands may end in a second: they are told together. */
  function tellSoon(): void {
    if (isTellingSoon) return
    isTellingSoon = true
    setTimeout(() => {
      isTellingSoon = false
      if (known && !signal.aborted) {
        listener.onProgress({ ...known, repositories: [...known.repositories] })
      }
    }, TELL_EVERY_MS)
  }

  async function look(): Promise<void> {
    const answer = await api.progress(id, { etag, signal })
    if (answer === UNCHANGED) return
    const isFirst = known === undefined
    etag = answer.etag
    known = answer.data
    places = new Map(known.repositories.map(({ full_name }, place) => [full_name, place]))
    if (isFirst || !isUnfinished(known.state)) listener.onProgress(known)
    else tellSoon()
  }

  function take({ name, id: eventId, data }: ServerEvent): void {
    if (eventId !== undefined) lastEventId = eventId
    if (!known) return
    if (name === 'repository') {
      const ended = JSON.parse(data) as RepositoryProgress
      const place = places.get(ended.full_name)
      if (place !== undefined) known.repositories[place] = ended
    }
    if (name === 'progress') takeUpdate(known, JSON.parse(data) as ProgressUpdate)
    tellSoon()
  }

  /** Rows and totals are of the same moment. */
  function takeUpdate(
    progress: Progress,
    { state, started_at, under_way, ...totals }: ProgressUpdate,
  ): void {
    Object.assign(progress, { state, started_at, totals })
    for (const repository of under_way) {
      const place = places.get(repository.full_name)
      if (place !== undefined) progress.repositories[place] = repository
    }
  }

  async function listen(): Promise<boolean> {
    const stop = new AbortController()
    const both = AbortSignal.any([signal, stop.signal])
    let silence = setTimeout(() => stop.abort(), FIRST_EVENT_WITHIN_MS)
    const onHeard = () => {
      clearTimeout(silence)
      silence = setTimeout(() => stop.abort(), SILENCE_MS)
    }
    let wasHeard = false
    try {
      for await (const event of await api.progressEvents(id, lastEventId, both, onHeard)) {
        wasHeard = true
        listener.onConnection('live')
        take(event)
      }
    } catch {
      // Cut off or refused: the next look tells which.
    } finally {
      clearTimeout(silence)
    }
    return wasHeard
  }

  return { look, listen, hasEnded: () => known !== undefined && !isUnfinished(known.state) }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
  })
}
