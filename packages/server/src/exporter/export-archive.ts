import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { readArchive, SegmentDamaged } from '@godwit/archive/tar/copy-archive'
import { type ArchivePlan, planArchive } from '@godwit/archive/tar/plan-archive'
import { Unreadable } from '@godwit/git/unreadable'
import { HostRequestFailed, HostUnavailable } from '@godwit/hosts/host-errors'
import { describeLosses } from '@godwit/lib/findings'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { mapConcurrent } from '@godwit/lib/turns'
import { UserError } from '@godwit/lib/user-error'
import type { Account } from '../accounts/account.ts'
import type { ExportedRepository } from '../migrations/export-store.ts'
import { DEFAULT_OPTIONS } from '../migrations/migration.ts'
import { isFullyReused, type RepositoryRecords } from '../migrations/outcomes.ts'
import { recordDamaged } from '../migrations/segment-check-store.ts'
import { problemsOf, type SegmentProblems } from '../migrations/segment-store.ts'
import { fullNameOf, type RepositoryMetadata } from '../repositories/repository-metadata.ts'
import type { ReuseDependencies } from './check-segments.ts'
import type { SegmentMaker } from './make-segment.ts'
import {
  contentsOfAll,
  type MetadataWriterDependencies,
  writeMetadata,
} from './metadata/write-metadata.ts'
import { obtainSegment } from './obtain-segment.ts'
import { obtainRecords, type RecordsDependencies } from './records/obtain-records.ts'
import { failureOf, withName } from './seal-archive.ts'

export interface ArchiveDependencies extends MetadataWriterDependencies, ReuseDependencies {
  segments: SegmentMaker
  /** A directory for data that does not fit into memory. */
  scratch: string
  /** The forge that records are read from, if any. */
  forge?: RecordsDependencies['forge'] | undefined
  /** Called when the forge requires a pause. */
  onWait?: (fullName: string, why: HostUnavailable) => void
}

export interface ArchiveOptions {
  /** The owner of the migration in the archive's records. */
  owner: Account
  repositories: readonly RepositoryMetadata[]
  allowPartial: boolean
  /** The number of repositories that are exported at the same time. */
  concurrency: number
  /** Called for each repository when its export ends. */
  onResult: (result: RepositoryResult) => void
}

interface ExportedResult extends SegmentProblems {
  outcome: 'exported' | 'reused'
  records: Pick<RepositoryRecords, 'asOf' | 'losses' | 'count'> | null
}

interface NotExportedResult {
  outcome: 'skipped' | 'failed'
  reason: string
}

export type RepositoryResult = { metadata: RepositoryMetadata } & (
  | ExportedResult
  | NotExportedResult
)

/** Disposing deletes the metadata and the manifest. The segments of repositories stay, so that the next export can reuse them. */
interface ExportedArchive extends AsyncDisposable {
  plan: ArchivePlan
}

/** Some repositories could not be exported. The message has a line for each. */
export class ExportFailed extends Error {
  override name = 'ExportFailed'
}

/** Makes the same archive as a migration of these repositories, without a queue or a migration. */
export async function exportArchive(
  dependencies: ArchiveDependencies,
  options: ArchiveOptions,
  signal: AbortSignal,
): Promise<ExportedArchive> {
  return seal(
    dependencies,
    { ...options, repositories: await exportAll(dependencies, options, signal) },
    signal,
  )
}

/**
 * Makes an archive for each repository that could be exported, with its owner as the owner of the migration. The first is yielded
 * when all are exported. Dispose each before the next is requested.
 */
export async function* exportSeparately(
  dependencies: ArchiveDependencies,
  options: ArchiveOptions,
  signal: AbortSignal,
): AsyncGenerator<ExportedArchive & { metadata: RepositoryMetadata }> {
  const { allowPartial } = options
  for (const repository of await exportAll(dependencies, options, signal)) {
    const { metadata, reason } = repository
    if (reason !== null) continue
    const exported = { owner: metadata.owner, allowPartial, repositories: [repository] }
    yield Object.assign(await seal(dependencies, exported, signal), { metadata })
  }
}

/** Reads an archive of `exportArchive` or `exportSeparately`. Throws UserError if a segment is damaged. */
export async function* archiveBytes(
  dependencies: ArchiveDependencies,
  plan: ArchivePlan,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* readArchive(plan, dependencies.blobs, undefined, { signal })
  } catch (error) {
    await failDamaged(dependencies, error)
  }
}

/** Records the segment of a SegmentDamaged error, so that the next export does not reuse it. Throws any other error unchanged. */
async function failDamaged({ db, now }: ArchiveDependencies, error: unknown): Promise<never> {
  if (!(error instanceof SegmentDamaged)) throw error
  await db.transaction().execute((tx) => recordDamaged(tx, [error.key], now()))
  const retry = 'Run the command again: it exports this data again'
  throw new UserError(`${error.message}. ${retry}`, { cause: error })
}

interface ToSeal extends Pick<ArchiveOptions, 'owner' | 'allowPartial'> {
  repositories: readonly ExportedRepository[]
}

/** Writes the metadata and the manifest of exported repositories. */
async function seal(
  dependencies: ArchiveDependencies,
  { owner, allowPartial, repositories }: ToSeal,
  signal: AbortSignal,
): Promise<ExportedArchive> {
  const options = { ...DEFAULT_OPTIONS, allowPartial }
  const migration = { guid: randomUUID(), owner, options, createdAt: dependencies.now() }
  const contents = await contentsOfAll(dependencies.db, repositories)
  const covered = { migration, repositories, organizations: [], contents }
  const written = writeMetadata(dependencies, covered, signal).catch((error) =>
    failDamaged(dependencies, error),
  )
  const { all, metadata, manifest } = await written
  return {
    plan: planArchive(all),
    async [Symbol.asyncDispose]() {
      for (const { key } of [metadata, manifest]) await dependencies.blobs.delete(key)
    },
  }
}

/**
 * Exports all repositories. An error that does not concern a single repository stops the export. Throws ExportFailed if a repository
 * failed that must not be skipped, or if all were skipped.
 */
async function exportAll(
  dependencies: ArchiveDependencies,
  { repositories, allowPartial, concurrency, onResult }: ArchiveOptions,
  signal: AbortSignal,
): Promise<ExportedRepository[]> {
  const since = dependencies.now()
  const limits = { concurrency, signal }
  const exported = await mapConcurrent(repositories, limits, async (metadata, stop, position) => {
    const { segmentKey, ...result } = await exportOne(
      dependencies,
      metadata,
      { allowPartial, since },
      stop,
    )
    const { records } = result
    const outcome = result.outcome === 'reused' ? 'exported' : result.outcome
    const reason = 'reason' in result ? result.reason : null
    onResult({ metadata, ...result })
    const missingLfs = 'reason' in result ? 0 : result.missingLfs
    const exported = { position, metadata, segmentKey, records, outcome, reason, missingLfs }
    return exported satisfies ExportedRepository
  })
  const failure = failureOf(exported)
  if (failure) throw new ExportFailed(failure)
  return exported
}

type StoredResult =
  | (ExportedResult & { segmentKey: string; records: RepositoryRecords | null })
  | (NotExportedResult & { segmentKey: null; records: null })

async function exportOne(
  dependencies: ArchiveDependencies,
  metadata: RepositoryMetadata,
  { allowPartial, since }: { allowPartial: boolean; since: number },
  signal: AbortSignal,
): Promise<StoredResult> {
  const { db, forge } = dependencies
  try {
    const records = forge
      ? await readRecords({ ...dependencies, forge }, metadata, since, signal)
      : null
    return await obtainSegment<StoredResult>(
      dependencies,
      {
        metadata,
        transact: (work) => db.transaction().execute(work),
        onObtained: async (tx, { segmentKey, reused }) => ({
          outcome: isFullyReused({ reused }, records) ? 'reused' : 'exported',
          segmentKey,
          records,
          ...(await problemsOf(tx, segmentKey)),
        }),
      },
      signal,
    )
  } catch (error) {
    if (!(error instanceof Unreadable) && !(error instanceof HostRequestFailed)) throw error
    const outcome = allowPartial ? 'skipped' : 'failed'
    return { outcome, segmentKey: null, records: null, reason: error.message }
  }
}

/** Reads the records from the forge. Waits while it is unavailable, because there is no queue that could retry later. */
async function readRecords(
  dependencies: ArchiveDependencies & Pick<RecordsDependencies, 'forge'>,
  metadata: RepositoryMetadata,
  since: number,
  signal: AbortSignal,
): Promise<RepositoryRecords> {
  const options = {
    repository: { owner: metadata.owner.login, name: metadata.name },
    reader: 'export',
    task: randomUUID(),
    since,
    excludeAttachments: false,
    excludeReleases: false,
    onProgress: async () => {},
  }
  for (;;) {
    try {
      return await obtainRecords(dependencies, options, signal)
    } catch (error) {
      if (!(error instanceof HostUnavailable)) throw error
      dependencies.onWait?.(fullNameOf(metadata), error)
      await sleep(Math.max(0, error.dueAt - dependencies.now()), undefined, { signal })
    }
  }
}

export function formatRepositoryResult({ metadata, ...result }: RepositoryResult): string {
  const name = fullNameOf(metadata)
  if ('reason' in result)
    return escapeForTerminal(`${result.outcome}: ${withName(name, result.reason)}`)
  const { outcome, warning, records } = result
  const line = `${name}: ${outcome}${warning === null ? '' : `; warning: ${warning}`}`
  return [line, ...formatRecords(records)].map(escapeForTerminal).join('\n  ')
}

function formatRecords(records: ExportedResult['records']): string[] {
  if (!records) return []
  const { count, asOf, losses } = records
  const lost = describeLosses(losses)
  return [`${count} issues and pull requests as of ${new Date(asOf).toISOString()}`, ...lost]
}
