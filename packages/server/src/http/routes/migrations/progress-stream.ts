import type { ServerResponse } from 'node:http'
import type * as wire from '@godwit/contract/schemas/types'
import { type Repeated, repeatedly } from '@godwit/lib/timers'
import { nextTurn } from '@godwit/lib/turns'
import type { Logger } from 'pino'
import type { Viewer } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import { type Migration, unfinishedStates } from '../../../migrations/migration.ts'
import { type Progress, progressOf, type RepositoryProgress } from '../../../migrations/progress.ts'
import { findPermittedStreams, type ProgressStream } from '../../../migrations/stream-permission.ts'
import { utcTimestampOrNull } from '../../rendering/rendering.ts'
import { repositoryProgressJson, totalsJson } from './progress-json.ts'

/** A client that loses its permission is disconnected within a second, so permissions are checked more often. */
const DEFAULT_INTERVALS = { readMs: 400, heartbeatMs: 15_000, permissionCheckMs: 500 }

interface Listener extends ProgressStream {
  response: ServerResponse
  /** The id of the last event that was sent: the `order` of the last repository. */
  lastEventId: number
  /** The data of the last progress event that was sent, as JSON. */
  lastUpdate: string
  /** Whether events are being written. Later events are sent after the next read of the database. */
  isBusy: boolean
}

/** The events of a migration at one moment. They are the same for all of its listeners. */
interface Events {
  /** The finished repositories, in the order in which they finished. */
  finished: RepositoryProgress[]
  /** The data of the progress event as JSON. */
  update: string
  /** The end event, or undefined while the migration is running. */
  end: string | undefined
}

interface StreamDependencies {
  db: Db
  now: () => number
  log: Logger
}

/**
 * Sends the progress of migrations as server-sent events. A migration is read once for all of its listeners. A listener
 * that reads slowly is skipped until its buffer is empty, and then gets the events that it has missed. A stream ends soon
 * after its session or token ends or its account loses the permission; one query checks all streams.
 */
export class ProgressStreams {
  readonly #dependencies: StreamDependencies
  readonly #listeners = new Map<number, Set<Listener>>()
  /** The ids of the migrations that are being read. A concurrent read could overtake another and send older totals last. */
  readonly #reading = new Set<number>()
  readonly #timers: Repeated[]

  constructor(dependencies: StreamDependencies, intervals = DEFAULT_INTERVALS) {
    this.#dependencies = dependencies
    const every = (ms: number, what: string, task: () => Promise<void>) =>
      repeatedly(task, ms, (err) => dependencies.log.warn({ err }, `could not ${what}`))
    const { readMs, heartbeatMs, permissionCheckMs } = intervals
    this.#timers = [
      every(readMs, 'send the progress', () => this.#sendAll()),
      every(heartbeatMs, 'send a heartbeat', async () => this.#sendHeartbeats()),
      every(permissionCheckMs, 'check who may read the progress', () => this.#endForbidden()),
    ]
  }

  /** Sends all events after `lastEventId` to the response, until the migration ends. */
  listen(
    { id }: Migration,
    { tokenId, session }: Viewer,
    response: ServerResponse,
    lastEventId: number,
  ) {
    const opened = { tokenId, sessionDigest: session?.digest }
    const state = { lastEventId, lastUpdate: '', isBusy: false }
    const listener: Listener = { ...opened, migrationId: id, response, ...state }
    const listeners = this.#listeners.getOrInsertComputed(id, () => new Set()).add(listener)
    response.on('close', () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(id)
    })
    // Without a handler, an error of one stream would end the process.
    response.on('error', (err) => this.#logSendError(id, err))
    void this.#send(id)
  }

  stop(): void {
    for (const timer of this.#timers) void timer.stop()
    for (const { response } of this.#all()) response.end()
  }

  #all(): Listener[] {
    return [...this.#listeners.values()].flatMap((listeners) => [...listeners])
  }

  #logSendError(migration: number, err: unknown): void {
    this.#dependencies.log.warn({ err, migration }, 'could not send the progress')
  }

  async #sendAll(): Promise<void> {
    for (const id of this.#listeners.keys()) await this.#send(id)
  }

  async #send(id: number): Promise<void> {
    if (this.#reading.has(id)) return
    this.#reading.add(id)
    const { db, now, log } = this.#dependencies
    try {
      const events = eventsOf(await progressOf(db, { id }), now())
      for (const listener of this.#listeners.get(id) ?? []) {
        sendEvents(listener, events).catch((err: unknown) => this.#logSendError(id, err))
      }
    } catch (err) {
      log.warn({ err, migration: id }, 'could not read the progress')
    } finally {
      this.#reading.delete(id)
    }
  }

  async #endForbidden(): Promise<void> {
    const { db, now } = this.#dependencies
    const listeners = this.#all()
    if (listeners.length === 0) return
    const permitted = await findPermittedStreams(db, listeners, now())
    for (const listener of listeners) if (!permitted.has(listener)) listener.response.end()
  }

  #sendHeartbeats(): void {
    for (const { response } of this.#all()) if (isWritable(response)) response.write(':\n\n')
  }
}

/** Returns false while the client has not read the earlier events, and after the end of the stream. */
const isWritable = (response: ServerResponse): boolean =>
  !response.writableEnded && !response.writableNeedDrain

function eventsOf(progress: Progress, now: number): Events {
  const { state, reason, repositories } = progress
  const end: wire.ProgressEnd = { state, reason }
  return {
    finished: repositories
      .filter(({ order }) => order !== null)
      .sort((a, b) => a.order! - b.order!),
    update: JSON.stringify(progressUpdate(progress, now)),
    end: unfinishedStates.includes(state)
      ? undefined
      : event('end', JSON.stringify(end), endId(repositories.length)),
  }
}

const MAX_WRITE_LENGTH = 16 * 1024

/** The events `repository` and `end` have an id. A client that reconnects sends the id of the last event that it received. */
async function sendEvents(listener: Listener, { finished, update, end }: Events): Promise<void> {
  const { response } = listener
  if (listener.isBusy || !isWritable(response)) return
  listener.isBusy = true
  try {
    let text = ''
    for (const repository of finished) {
      if (repository.order! <= listener.lastEventId) continue
      listener.lastEventId = repository.order!
      const data = JSON.stringify(repositoryProgressJson(repository))
      text += event('repository', data, listener.lastEventId)
      if (text.length < MAX_WRITE_LENGTH) continue
      response.write(text)
      text = ''
      await nextTurn()
      await drained(response)
      if (response.writableEnded || response.destroyed) return
    }
    if (update !== listener.lastUpdate) text += event('progress', update)
    listener.lastUpdate = update
    if (end !== undefined) response.end(text + end)
    else if (text !== '') response.write(text)
  } finally {
    listener.isBusy = false
  }
}

/** Resolves when the client has read all written bytes, or has disconnected. */
async function drained(response: ServerResponse): Promise<void> {
  if (!response.writableNeedDrain) return
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const name of ['drain', 'close']) response.on(name, resolve)
  await promise
  for (const name of ['drain', 'close']) response.off(name, resolve)
}

/** Renders the totals and the repositories that are being exported. */
function progressUpdate(progress: Progress, now: number): wire.ProgressUpdate {
  const { state, startedAt, repositories } = progress
  return {
    ...totalsJson(progress, now),
    state,
    started_at: utcTimestampOrNull(startedAt),
    under_way: repositories
      .filter((repository) => repository.state === 'exporting')
      .map(repositoryProgressJson),
  }
}

/** The id of the `end` event: one more than the highest `order` of a repository. */
export const endId = (repositoryCount: number): number => repositoryCount + 1

function event(name: string, json: string, id?: number): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`
  return `event: ${name}\n${idLine}data: ${json}\n\n`
}
