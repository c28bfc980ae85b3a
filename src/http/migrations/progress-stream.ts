import type { ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import type { Viewer } from '../../accounts/account.ts'
import type { Db } from '../../db/database.ts'
import { type Repeated, repeatedly } from '../../ground/repeatedly.ts'
import type { Migration } from '../../migrations/migration.ts'
import { type Progress, progressOf } from '../../migrations/progress.ts'
import { unfinishedStates } from '../../migrations/states.ts'
import { type Following, permittedFollowings } from '../../migrations/stream-permission.ts'
import type * as wire from '../../wire/types.ts'
import { timeOrNull } from '../door/timestamps.ts'
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
    const listener: Listener = { tokenId, migrationId: id, to, seen, totals: '' }
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
      for (const listener of this.#listeners.get(id) ?? []) tell(listener, progress, now())
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

/** Endings bear an id, so that a client that comes back says how far it was; the very end has the highest. */
function tell(listener: Listener, progress: Progress, now: number): void {
  const { to } = listener
  if (!canBeTold(to)) return
  const ended = progress.repositories
    .filter(({ order }) => order !== null && order > listener.seen)
    .sort((a, b) => a.order! - b.order!)
  for (const repository of ended) {
    listener.seen = repository.order!
    to.write(event('repository', repositoryProgressJson(repository), listener.seen))
  }
  const update = progressUpdate(progress, now)
  const totals = JSON.stringify(update)
  if (totals !== listener.totals) to.write(event('progress', update))
  listener.totals = totals
  if (!unfinishedStates.includes(progress.state)) {
    const { state, reason } = progress
    const end: wire.ProgressEnd = { state, reason }
    to.end(event('end', end, endId(progress)))
  }
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
