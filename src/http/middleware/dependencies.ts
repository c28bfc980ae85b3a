import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Logger } from 'pino'
import type { BlobStore } from '../../blobs/blob-store.ts'
import type { Db } from '../../db/database.ts'

export interface DependencyParts {
  db: Db
  blobs: BlobStore
  log: Logger
  /** Whether the repositories have been read once since the start. */
  isCatalogueRead: () => boolean
  /** Rejects where nothing can be written to the data directory; absent where neither database nor archives are in it. */
  probeData?: (() => Promise<void>) | undefined
}

/** Something that this process cannot do its work without. */
export interface Dependency {
  name: 'catalogue' | 'database' | 'blobs' | 'data'
  /** Without it, reads, downloads and deletions go on: nothing can be started or exported. */
  isForWritesOnly?: true
  isThere(): Promise<boolean>
}

/** Who asks for readiness gives up after a few seconds. */
const LONGEST_WAIT_MS = 2000
/** One that never answers is asked again: the connection it was asked on may be dead. */
const FORGOTTEN_MS = 15_000
/** Readiness is asked for often, and by many; asking a bucket costs money. */
const REMEMBERED_MS = { database: 0, blobs: 5000, data: 5000 }

export function dependencies(parts: DependencyParts): Dependency[] {
  const { db, blobs, log, isCatalogueRead, probeData } = parts
  const remote = (name: keyof typeof REMEMBERED_MS, ask: () => Promise<unknown>): Dependency => {
    const answers = sharedAnswer(ask, REMEMBERED_MS[name])
    return {
      name,
      async isThere() {
        try {
          await inTime(answers())
          return true
        } catch (err) {
          log.warn({ err, name }, 'a dependency does not answer')
          return false
        }
      },
    }
  }
  return [
    { name: 'catalogue', isThere: async () => isCatalogueRead() },
    remote('database', () => sql`select 1`.execute(db)),
    remote('blobs', () => blobs.probe({ signal: AbortSignal.timeout(LONGEST_WAIT_MS) })),
    ...(probeData ? [{ ...remote('data', probeData), isForWritesOnly: true as const }] : []),
  ]
}

interface Attempt {
  answer: Promise<unknown>
  since: number
  state: 'open' | 'good' | 'bad'
}

/** Nobody asks while an answer is awaited, nor soon after a good one: a store that is slow is not made slower. */
function sharedAnswer(ask: () => Promise<unknown>, rememberedMs: number): () => Promise<unknown> {
  const stays = { open: FORGOTTEN_MS, good: rememberedMs, bad: 0 }
  let last: Attempt | undefined
  return () => {
    if (last && performance.now() - last.since < stays[last.state]) return last.answer
    const asked: Attempt = { answer: ask(), since: performance.now(), state: 'open' }
    asked.answer.then(
      () => Object.assign(asked, { state: 'good' }),
      () => Object.assign(asked, { state: 'bad' }),
    )
    last = asked
    return asked.answer
  }
}

export async function inTime<T>(work: Promise<T>): Promise<T> {
  const ended = new AbortController()
  const tooLate = sleep(LONGEST_WAIT_MS, undefined, { signal: ended.signal, ref: false }).then(
    () => {
      throw new Error(`no answer within ${LONGEST_WAIT_MS} ms`)
    },
  )
  try {
    return await Promise.race([work, tooLate])
  } finally {
    ended.abort()
    tooLate.catch(() => {})
  }
}
