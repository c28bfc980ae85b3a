import type { Db } from '../db/database.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import {
  BEGIN_EXPORT,
  EXPORT_RECORDS,
  EXPORT_REPOSITORY,
  type ExportTask,
  type MigrationJob,
} from '../migrations/migration.ts'
import { migrationOwner } from '../migrations/migration-store.ts'
import { recordRecordsWaiting } from '../migrations/record-store.ts'
import { repositoryAt } from '../migrations/snapshot-store.ts'
import {
  type Handler,
  type Handlers,
  type Job,
  PermanentError,
  RetryLater,
} from '../queue/queue.ts'
import { ForgeUnreachable } from '../repositories/forge-unreachable.ts'
import {
  AccountRemoved,
  ignoreRemoval,
  RECENT,
  type RightsRefresher,
  rightsRefresher,
  STORED,
} from '../repositories/refresh-rights.ts'
import { findCatalogued } from '../repositories/repository-store.ts'
import { recentlySignedIn } from '../repositories/rights-store.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import type { Forge } from '../sources/forge/connect-forge.ts'
import type { Source } from '../sources/source.ts'
import type { Log } from './log.ts'

interface RightsParts {
  db: Db
  now: () => number
  log: Pick<Log['log'], 'warn'>
  source: Source | undefined
  forge: Forge | undefined
}

/** What people may do on the forge, where there is one. */
export function openRights({ forge, log, ...parts }: RightsParts): RightsRefresher | undefined {
  if (!forge) return undefined
  const { url, catalogue, readRights } = forge
  return rightsRefresher({
    ...parts,
    catalogue,
    readRights,
    warn: (reason) => log.warn({ forge: url, reason }, `permissions of the forge: ${reason}`),
  })
}

interface JobParts {
  db: Db
  source: Source
  rights: RightsRefresher | undefined
  now: () => number
}

/** Jobs that read repositories look first what the forge says now, of their migration's owner and of the repository. */
export function withFreshRights(handlers: Handlers, parts: JobParts): Handlers {
  const { rights } = parts
  if (!rights) return handlers
  const fresh = (handler: Handler): Handler => ({
    ...handler,
    async run(job, run) {
      await askForge({ ...parts, rights }, job).catch(async (error: unknown) => {
        if (!(error instanceof ForgeUnreachable)) throw error
        const { retryAt: dueAt, message } = error
        if (job.kind === EXPORT_RECORDS)
          await recordRecordsWaiting(parts.db, job.payload as ExportTask, {
            until: dueAt,
            reason: message,
            now: parts.now(),
          })
        throw new RetryLater(message, { cause: error, dueAt })
      })
      await handler.run(job, run)
    },
  })
  return Object.fromEntries(
    Object.entries(handlers).map(([kind, handler]) => [
      kind,
      ASKED_BEFORE.has(kind) ? fresh(handler) : handler,
    ]),
  )
}

const ASKED_BEFORE: ReadonlySet<string> = new Set([BEGIN_EXPORT, EXPORT_RECORDS, EXPORT_REPOSITORY])

async function askForge(
  { db, source, rights, now }: JobParts & { rights: RightsRefresher },
  { kind, payload }: Job,
): Promise<void> {
  const { migrationId } = payload as MigrationJob
  const owner = await migrationOwner(db, migrationId)
  if (owner)
    await rights.refresh(owner, RECENT).catch((error: unknown) => {
      // What is there under their names may be somebody else's by now.
      throw error instanceof AccountRemoved
        ? new PermanentError(error.message, { cause: error })
        : error
    })
  if (kind === BEGIN_EXPORT) return
  const facts = await repositoryAt(db, migrationId, (payload as ExportTask).position)
  const names = [{ owner: facts.owner.login, name: facts.name }]
  await refreshRepositories({ db, source, now }, names, await findCatalogued(db, names))
}

const DAY_MS = 24 * 60 * 60 * 1000
const MAX_ASKED = 500
const ASKED_AT_ONCE = 4

/** Of everyone who was here lately. */
export async function refreshAllRights(
  { db, now }: { db: Db; now: () => number },
  rights: RightsRefresher,
): Promise<void> {
  const accounts = await recentlySignedIn(db, now() - DAY_MS, MAX_ASKED)
  await mapConcurrent(accounts.values(), { lanes: ASKED_AT_ONCE }, async (each) => {
    await rights.refresh(each, STORED).catch(ignoreRemoval)
  })
}
