import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Viewer } from '../../../accounts/account.ts'
import type { Db } from '../../../db/database.ts'
import { type Repeated, repeatedly } from '../../../lib/repeatedly.ts'
import { nextTurn } from '../../../lib/turns.ts'
import type { Migration } from '../../../migrations/migration.ts'
import { type Progress, progressOf, type RepositoryProgress } from '../../../migrations/progress.ts'
import { unfinishedStates } from '../../../migrations/states.ts'
import { type Following, permittedFollowings } from '../../../migrations/stream-permission.ts'
import type * as wire from '../../../wire/types.ts'
import { timeOrNull } from '../../middleware/timestamps.ts'
import { repositoryProgressJson, totalsJson } from './progress-json.ts'

interface Pace {
  lookEveryMs: number
  heartbeatMs: number
  /** Whoever may no longer listen is cut off within five seconds. */
  askEveryMs: number
}

const USUAL: Pace = { lookEveryMs: 400, heartbeatMs: 15_000, askEveryMs: 2000 }

interface Listener extends Following {
  to: ServerResponse
  /** The last ending it has been told of. */
  seen: number
  /** The last totals it has been told of. */
  totals: string
  /** Whether events are being written to it: then it is told of later ones afterwards. */
  isBusy: boolean
}

/** What listeners are to be told, the same for all who listen to a migration. */
interface Told {
  /** Those that have ended, in the order they ended. */
  ended: RepositoryProgress[]
  update: wire.ProgressUpdate
  /** The same as JSON. */
  totals: string
  /** Undefined while the migration goes on. */
  end: string | undefined
}

interface StreamParts {
  db: Db
  now: () => number
  log: Logger
}

/**
 * Server-sent events. However many listen to a migration, it is read once for all of them; a listener that cannot keep up
 * is skipped until it can, and then told what it has missed. A stream ends soon after the token that it was opened with,
 * or the permission: that is asked for all streams together.
 */
export class ProgressStreams {
  readonly #parts: StreamParts
  readonly #listeners = new Map<number, Set<Listener>>()
  /** The migrations that are being read: what was read last is to be told last. */
  readonly #looking = new Set<number>()
  readonly #rounds: Repeated[]

  constructor(parts: StreamParts, { lookEveryMs, heartbeatMs, askEveryMs } = USUAL) {
    this.#parts = parts
    const { log } = parts
    this.#rounds = [
      repeatedly(
        () => this.#lookAtAll(),
        lookEveryMs,
        (err) => log.warn({ err }, 'could not tell the progress'),
      ),
      repeatedly(
        async () => this.#heartbeat(),
        heartbeatMs,
        (err) => log.warn({ err }, 'could not send a sign of life'),
      ),
      repeatedly(
        () => this.#endForbidden(),
        askEveryMs,
        (err) => log.warn({ err }, 'could not check who may read the progress'),
      ),
    ]
  }

  /** Tells of every repository that ends after the `seen`-th, of the totals when they change, and of the end. */
  listen({ id }: Migration, { tokenId }: Viewer, to: ServerResponse, seen: number): void {
    const listener: Listener = { tokenId, migrationId: id, to, seen, totals: '', isBusy: false }
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    to.on('close', () => this.#forget(listener))
    // Without a listener of its own, an error of one stream would end the process.
    to.on('error', (err) =>
      this.#parts.log.warn({ err, migration: id }, 'could not send the progress'),
    )
    void this.#look(id)
  }

  stop(): void {
    for (const round of this.#rounds) void round.stop()
    for (const { to } of this.#all()) to.end()
  }

  #all(): Listener[] {
    return [...this.#listeners.values()].flatMap((each) => [...each])
  }

  async #lookAtAll(): Promise<void> {
    for (const id of this.#listeners.keys()) await this.#look(id)
  }

  async #look(id: number): Promise<void> {
    if (this.#looking.has(id)) return
    this.#looking.add(id)
    const { db, now, log } = this.#parts
    try {
      const progress = await progressOf(db, { id })
      const told = toldOf(progress, now())
      for (const listener of this.#listeners.get(id) ?? []) {
        tell(listener, told).catch((err: unknown) =>
          log.warn({ err, migration: id }, 'could not send the progress'),
        )
      }
    } catch (err) {
      log.warn({ err, migration: id }, 'could not read the progress')
    } finally {
      this.#looking.delete(id)
    }
  }

  async #endForbidden(): Promise<void> {
    const { db, now } = this.#parts
    const listeners = this.#all()
    if (listeners.length === 0) return
    const permitted = await permittedFollowings(db, listeners, now())
    for (const listener of listeners) if (!permitted.has(listener)) listener.to.end()
  }

  #heartbeat(): void {
    for (const { to } of this.#all()) if (canBeTold(to)) to.write(':\n\n')
  }

  #forget(listener: Listener): void {
    const { migrationId } = listener
    const listeners = this.#listeners.get(migrationId)
    listeners?.delete(listener)
    if (listeners?.size === 0) this.#listeners.delete(migrationId)
  }
}

/** A slow client may take long to take the rest of a stream that has ended. */
const canBeTold = (to: ServerResponse): boolean => !to.writableEnded && !to.writableNeedDrain

function toldOf(progress: Progress, now: number): Told {
  const { state, reason } = progress
  const update = progressUpdate(progress, now)
  const end: wire.ProgressEnd = { state, reason }
  return {
    ended: progress.repositories
      .filter(({ order }) => order !== null)
      .sort((a, b) => a.order! - b.order!),
    update,
    totals: JSON.stringify(update),
    end: unfinishedStates.includes(state) ? undefined : event('end', end, endId(progress)),
  }
}

const PIECE_LENGTH = 16 * 1024

/** Endings bear an id, so that a client that comes back says how far it was; the very end has the highest. */
async function tell(listener: Listener, { ended, update, totals, end }: Told): Promise<void> {
  const { to } = listener
  if (listener.isBusy || !canBeTold(to)) return
  listener.isBusy = true
  try {
    let text = ''
    for (const repository of ended) {
      if (repository.order! <= listener.seen) continue
      listener.seen = repository.order!
      text += event('repository', repositoryProgressJson(repository), listener.seen)
      if (text.length < PIECE_LENGTH) continue
      to.write(text)
      text = ''
      await nextTurn()
      await drained(to)
      if (to.writableEnded || to.destroyed) return
    }
    if (totals !== listener.totals) text += event('progress', update)
    listener.totals = totals
    if (end !== undefined) to.end(text + end)
    else if (text !== '') to.write(text)
  } finally {
    listener.isBusy = false
  }
}

/** Resolves when the client has taken what was written, or is gone. */
async function drained(to: ServerResponse): Promise<void> {
  if (!to.writableNeedDrain) return
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const name of ['drain', 'close']) to.on(name, resolve)
  await promise
  for (const name of ['drain', 'close']) to.off(name, resolve)
}

/** The totals, and of the same moment those that are under way: whoever follows need not ask for them. */
function progressUpdate(progress: Progress, now: number): wire.ProgressUpdate {
  const { state, startedAt, repositories } = progress
  return {
    ...totalsJson(progress, now),
    state,
    started_at: timeOrNull(startedAt),
    under_way: repositories
      .filter((repository) => repository.state === 'exporting')
      .map(repositoryProgressJson),
  }
}

/** One more than any repository of the migration can have. */
export const endId = ({ repositories }: Pick<Progress, 'repositories'>): number =>
  repositories.length + 1

function event(name: string, data: unknown, id?: number): string {
  const idLine = id === undefined ? '' : `id: ${id}\n`
  return `event: ${name}\n${idLine}data: ${JSON.stringify(data)}\n\n`
}
