import type { Db } from '../../db/database.ts'
import { LeaseTaken } from '../../db/lease-store.ts'
import type { ExportTask, MigrationOptions } from '../../migrations/migration.ts'
import {
  keysOfRecords,
  type RepositoryRecords,
  recordRecordsProgress,
} from '../../migrations/record-store.ts'
import { nameSegments } from '../../migrations/segment-store.ts'
import { RetryLater } from '../../queue/queue.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import { WaitUntil } from '../../sources/forge-errors.ts'
import { obtainRecords, type RecordsParts } from './obtain-records.ts'

interface TaskFacts {
  facts: RepositoryFacts
  options: MigrationOptions
  startedAt: number
}

/** The records of one repository of a migration. Throws RetryLater where the forge, or another reader, is to be waited for. */
export async function recordsForTask(
  parts: Omit<RecordsParts, 'forge'> & { forge: RecordsParts['forge'] | undefined },
  task: ExportTask,
  { facts, options, startedAt }: TaskFacts,
  signal: AbortSignal,
): Promise<RepositoryRecords> {
  const { db, forge } = parts
  // Whoever started it had a forge; this process is to have it too.
  if (!forge) throw new RetryLater('this process has no --forge: the records cannot be read')
  const note = (done: number, expected: number) =>
    recordRecordsProgress(db, task, { done, expected, startedAt })
  await note(0, 0)
  const name = `${task.migrationId}/${task.position}`
  const order = {
    repository: { owner: facts.owner.login, name: facts.name },
    reader: name,
    task: name,
    excludeAttachments: options.excludeAttachments,
    excludeReleases: options.excludeReleases,
    onProgress: ({ read, total }: { read: number; total: number }) => note(read, total),
  }
  try {
    return await obtainRecords({ ...parts, forge }, order, signal)
  } catch (error) {
    if (error instanceof LeaseTaken) throw new RetryLater(error.message, { cause: error })
    if (!(error instanceof WaitUntil)) throw error
    throw new RetryLater(error.message, { cause: error, dueAt: error.dueAt })
  }
}

/** Keeps the sweep away from them. */
export async function nameRecords(tx: Db, records: RepositoryRecords, now: number): Promise<void> {
  const keys = keysOfRecords(records)
  const named = await nameSegments(tx, keys, now)
  if (named.size !== new Set(keys).size)
    throw new Error('a segment of records was swept or is damaged')
}
