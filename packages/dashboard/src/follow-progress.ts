import type { ServerEvent } from '@godwit/contract/client/event-stream'
import { useEffect, useRef, useState } from 'react'
import type { Api } from './api.ts'
import { UNCHANGED } from './api-calls.ts'
import {
  isUnfinished,
  type Progress,
  type ProgressUpdate,
  type RepositoryProgress,
} from './api-types.ts'
import { type Failure, failureOf } from './failure.ts'
import { type StreamTurn, takeStreamTurns } from './stream-turn.ts'

/**
 * `live`: by event stream; `background`: another tab has the stream; `polling`: no stream is available; `reconnecting`: the server is
 * unavailable; `limited`: the rate limit is exceeded.
 */
export type Connection =
  | 'connecting'
  | 'live'
  | 'background'
  | 'polling'
  | 'reconnecting'
  | 'limited'
  | 'ended'

interface Listener {
  onProgress(progress: Progress): void
  onConnection(connection: Connection): void
  /** Called if the migration does not exist, or is not visible to the user. */
  onFailure(failure: Failure): void
}

const UPDATE_INTERVAL_MS = 100
const POLL_INTERVAL_MS = 2000
/** Seldom enough that many tabs stay within the rate limit. */
const BACKGROUND_POLL_INTERVAL_MS = 10_000
/** A proxy may buffer a stream, so the first event never arrives. */
const FIRST_EVENT_TIMEOUT_MS = 5000
/** Event streams have a heartbeat every 15 seconds. */
const SILENCE_TIMEOUT_MS = 45_000
const STREAM_ATTEMPTS = 2
const POLLS_BEFORE_NEXT_ATTEMPT = 15
const MIN_PAUSE_MS = 250
const MAX_PAUSE_MS = 5000
const LIMITED_PAUSE_MS = 30_000

/** Follows a migration until it has ended or the signal is aborted. Connection errors are retried. */
async function followProgress(
  api: Api,
  id: number,
  listener: Listener,
  signal: AbortSignal,
): Promise<void> {
  const reader = progressReader(api, id, listener, signal)
  let turn: StreamTurn | undefined
  let refusedStreams = 0
  let failures = 0
  while (!signal.aborted) {
    try {
      await reader.read()
      failures = 0
      if (reader.hasEnded()) return listener.onConnection('ended')
    } catch (error) {
      if (signal.aborted) return
      const failure = failureOf(error)
      if (failure.kind === 'not-found') return listener.onFailure(failure)
      const isLimited = failure.kind === 'limited'
      listener.onConnection(isLimited ? 'limited' : 'reconnecting')
      const backoff = Math.min(MIN_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS)
      await pause(isLimited ? LIMITED_PAUSE_MS : backoff, signal)
      failures += 1
      continue
    }
    if (signal.aborted) return
    turn ??= takeStreamTurns(signal)
    const turnSignal = turn.signal()
    if (!turnSignal) {
      listener.onConnection('background')
      await turn.untilTaken(BACKGROUND_POLL_INTERVAL_MS)
    } else if (refusedStreams < STREAM_ATTEMPTS) {
      const hasEvents = await reader.readStream(turnSignal)
      refusedStreams = hasEvents || turnSignal.aborted ? 0 : refusedStreams + 1
      // Limits the rate of reconnects if a proxy closes every stream early.
      await pause(MIN_PAUSE_MS, signal)
    } else {
      listener.onConnection('polling')
      await pause(POLL_INTERVAL_MS, signal)
      refusedStreams += 1
      if (refusedStreams > STREAM_ATTEMPTS + POLLS_BEFORE_NEXT_ATTEMPT) refusedStreams = 0
    }
  }
}

function progressReader(api: Api, id: number, listener: Listener, signal: AbortSignal) {
  let progress: Progress | undefined
  let indexes = new Map<string, number>()
  let etag: string | undefined
  let lastEventId = '0'
  let isUpdateScheduled = false

  /** Batches updates: thousands of repositories may end in a second. */
  function scheduleUpdate(): void {
    if (isUpdateScheduled) return
    isUpdateScheduled = true
    setTimeout(() => {
      isUpdateScheduled = false
      if (progress && !signal.aborted) {
        listener.onProgress({ ...progress, repositories: [...progress.repositories] })
      }
    }, UPDATE_INTERVAL_MS)
  }

  async function read(): Promise<void> {
    const response = await api.progress(id, { etag, signal })
    if (response === UNCHANGED) return
    const isFirst = progress === undefined
    etag = response.etag
    progress = response.data
    indexes = new Map(progress.repositories.map(({ full_name }, index) => [full_name, index]))
    if (isFirst || !isUnfinished(progress.state)) listener.onProgress(progress)
    else scheduleUpdate()
  }

  function applyEvent({ name, id: eventId, data }: ServerEvent): void {
    if (eventId !== undefined) lastEventId = eventId
    if (!progress) return
    if (name === 'repository') setRepository(progress, JSON.parse(data) as RepositoryProgress)
    if (name === 'progress') applyUpdate(progress, JSON.parse(data) as ProgressUpdate)
    scheduleUpdate()
  }

  /** Updates the repositories and the totals together. */
  function applyUpdate(
    current: Progress,
    { state, started_at, under_way, ...totals }: ProgressUpdate,
  ): void {
    Object.assign(current, { state, started_at, totals })
    for (const repository of under_way) setRepository(current, repository)
  }

  function setRepository({ repositories }: Progress, repository: RepositoryProgress): void {
    const index = indexes.get(repository.full_name)
    if (index !== undefined) repositories[index] = repository
  }

  /** Reads the stream until it ends or breaks, or another tab takes the turn. Returns whether it had any events. */
  async function readStream(turn: AbortSignal): Promise<boolean> {
    const stop = new AbortController()
    const anySignal = AbortSignal.any([signal, turn, stop.signal])
    let timer = setTimeout(() => stop.abort(), FIRST_EVENT_TIMEOUT_MS)
    const onChunk = () => {
      clearTimeout(timer)
      timer = setTimeout(() => stop.abort(), SILENCE_TIMEOUT_MS)
    }
    let hasEvents = false
    try {
      for await (const event of await api.progressEvents(id, lastEventId, anySignal, onChunk)) {
        hasEvents = true
        listener.onConnection('live')
        applyEvent(event)
      }
    } catch {
      // The next read shows whether the stream broke or was refused.
    } finally {
      clearTimeout(timer)
    }
    return hasEvents
  }

  const hasEnded = () => progress !== undefined && !isUnfinished(progress.state)
  return { read, readStream, hasEnded }
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

interface Followed {
  progress: Progress | undefined
  connection: Connection
  failure: Failure | undefined
}

/** Follows a migration while the component is mounted. `onEnd` is called if it ends in that time. */
export function useProgress(api: Api, id: number, onEnd: (progress: Progress) => void): Followed {
  const [progress, setProgress] = useState<Progress>()
  const [connection, setConnection] = useState<Connection>('connecting')
  const [failure, setFailure] = useState<Failure>()
  const end = useRef(onEnd)
  end.current = onEnd
  useEffect(() => {
    const stop = new AbortController()
    let wasUnfinished = false
    const listener = {
      onProgress(now: Progress) {
        setProgress(now)
        if (wasUnfinished && !isUnfinished(now.state)) end.current(now)
        wasUnfinished = isUnfinished(now.state)
      },
      onConnection: setConnection,
      onFailure: setFailure,
    }
    // After the end, the page takes no more turns from other tabs.
    void followProgress(api, id, listener, stop.signal).finally(() => stop.abort())
    return () => stop.abort()
  }, [api, id])
  return { progress, connection, failure }
}
