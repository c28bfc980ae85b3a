import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Account } from '../accounts/account.ts'
import { readArchive, SegmentDamaged } from '../archive/copy-archive.ts'
import { type ArchivePlan, planArchive } from '../archive/plan-archive.ts'
import { mapConcurrent } from '../lib/map-concurrent.ts'
import { UserError } from '../lib/user-error.ts'
import type { ExportedRepository } from '../migrations/export-store.ts'
import { DEFAULT_OPTIONS, type Migration } from '../migrations/migration.ts'
import { isWhollyReused, type RepositoryRecords } from '../migrations/record-store.ts'
import { recordDamaged } from '../migrations/segment-check-store.ts'
import { warningOf } from '../migrations/segment-store.ts'
import { fullNameOf, type RepositoryFacts } from '../repositories/facts.ts'
import { ForgeRequestFailed, ForgeUnavailable } from '../sources/forge-errors.ts'
import { Unreadable } from '../sources/unreadable.ts'
import type { ReuseParts } from './check-segments.ts'
import type { SegmentMaker } from './make-segment.ts'
import { coveredOrganizations } from './metadata/covered-organizations.ts'
import {
  contentsOfAll,
  type MetadataWriterParts,
  writeMetadata,
} from './metadata/write-metadata.ts'
import { obtainSegment } from './obtain-segment.ts'
import { obtainRecords, type RecordsParts } from './records/obtain-records.ts'
import { failureOf, withName } from './seal-archive.ts'

export interface ArchiveParts extends MetadataWriterParts, ReuseParts {
  segments: SegmentMaker
  /** A directory for data that does not fit into memory. */
  scratch: string
  /** The forge that records are read from, if any. */
  forge?: RecordsParts['forge'] | undefined
  /** Called when the forge asks to wait. */
  onWait?: (fullName: string, why: ForgeUnavailable) => void
}

export interface ArchiveOrder {
  /** The owner that the archive names. */
  owner: Account
  repositories: readonly RepositoryFacts[]
  allowPartial: boolean
  /** The number of repositories that are exported at the same time. */
  concurrency: number
  onEnd: (end: RepositoryResult) => void
}

type RecordsEnd = Pick<RepositoryRecords, 'asOf' | 'notes' | 'count'> | null

export type RepositoryResult = { facts: RepositoryFacts } & (
  | { outcome: 'exported' | 'reused'; warning: string | null; records: RecordsEnd }
  | { outcome: 'skipped' | 'failed'; reason: string }
)

/** Disposing deletes the metadata and the manifest. The segments of repositories stay, so that the next export can reuse them. */
export interface ExportedArchive extends AsyncDisposable {
  plan: ArchivePlan
}

/** Some repositories could not be exported. The message has a line for each. */
export class ExportFailed extends Error {
  override name = 'ExportFailed'
}

/** Makes the archive that a migration of these repositories would have, without a queue or a migration. */
export async function exportArchive(
  parts: ArchiveParts,
  order: ArchiveOrder,
  signal: AbortSignal,
): Promise<ExportedArchive> {
  const repositories = await exportAll(parts, order, signal)
  return seal(parts, migrationOf(parts, order, order.owner), repositories, signal)
}

export interface RepositoryArchive extends ExportedArchive {
  facts: RepositoryFacts
}

/**
 * Makes an archive for each repository that could be exported, in the name of its owner. The first is yielded when all are
 * exported. Dispose each before the next is requested.
 */
export async function* exportSeparately(
  parts: ArchiveParts,
  order: ArchiveOrder,
  signal: AbortSignal,
): AsyncGenerator<RepositoryArchive> {
  for (const repository of await exportAll(parts, order, signal)) {
    const { facts, reason } = repository
    if (reason !== null) continue
    const archive = await seal(parts, migrationOf(parts, order, facts.owner), [repository], signal)
    yield Object.assign(archive, { facts })
  }
}

/** Reads an archive that this module has made. */
export async function* archiveBytes(
  parts: ArchiveParts,
  plan: ArchivePlan,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  try {
    yield* readArchive(plan, parts.blobs, undefined, { signal })
  } catch (error) {
    await failDamaged(parts, error)
  }
}

/** Records a damaged segment, so that the next export does not reuse it. */
async function failDamaged({ db, now }: ArchiveParts, error: unknown): Promise<never> {
  if (!(error instanceof SegmentDamaged)) throw error
  await db.transaction().execute((tx) => recordDamaged(tx, [error.key], now()))
  const retry = 'Run the command again: it exports this data again'
  throw new UserError(`${error.message}. ${retry}`, { cause: error })
}

type OwnMigration = Pick<Migration, 'guid' | 'owner' | 'options' | 'createdAt'>

function migrationOf(
  { now }: ArchiveParts,
  { allowPartial }: ArchiveOrder,
  owner: Account,
): OwnMigration {
  const options = { ...DEFAULT_OPTIONS, allowPartial }
  return { guid: randomUUID(), owner, options, createdAt: now() }
}

async function seal(
  parts: ArchiveParts,
  migration: OwnMigration,
  repositories: readonly ExportedRepository[],
  signal: AbortSignal,
): Promise<ExportedArchive> {
  const organizations = await coveredOrganizations(parts.db, [], repositories)
  const contents = await contentsOfAll(parts.db, repositories)
  const covered = { migration, repositories, organizations, contents }
  const written = writeMetadata(parts, covered, signal).catch((error) => failDamaged(parts, error))
  const { all, metadata, manifest } = await written
  return {
    plan: planArchive(all),
    async [Symbol.asyncDispose]() {
      for (const { key } of [metadata, manifest]) await parts.blobs.delete(key)
    },
  }
}

/**
 * An error that does not concern a single repository stops the export. Throws ExportFailed if a repository failed that must not
 * be skipped, or if nothing is left.
 */
async function exportAll(
  parts: ArchiveParts,
  { repositories, allowPartial, concurrency, onEnd }: ArchiveOrder,
  signal: AbortSignal,
): Promise<ExportedRepository[]> {
  const exported: ExportedRepository[] = []
  const options = { concurrency, signal }
  await mapConcurrent(repositories.entries(), options, async ([position, facts], stop) => {
    const { segmentKey, ...end } = await exportOne(parts, facts, allowPartial, stop)
    const { records } = end
    const outcome = end.outcome === 'reused' ? 'exported' : end.outcome
    const reason = 'reason' in end ? end.reason : null
    exported[position] = { position, facts, segmentKey, records, outcome, reason }
    onEnd({ facts, ...end })
  })
  const failure = failureOf(exported)
  if (failure) throw new ExportFailed(failure)
  return exported
}

type Outcome =
  | {
      outcome: 'exported' | 'reused'
      segmentKey: string
      records: RepositoryRecords | null
      warning: string | null
    }
  | { outcome: 'skipped' | 'failed'; segmentKey: null; records: null; reason: string }

async function exportOne(
  parts: ArchiveParts,
  facts: RepositoryFacts,
  allowPartial: boolean,
  signal: AbortSignal,
): Promise<Outcome> {
  const { db } = parts
  try {
    const records = parts.forge ? await readRecords(parts, parts.forge, facts, signal) : null
    return await obtainSegment<Outcome>(
      parts,
      {
        facts,
        transact: (work) => db.transaction().execute(work),
        onEnd: async (tx, { segmentKey, reused }) => ({
          outcome: isWhollyReused({ reused }, records) ? 'reused' : 'exported',
          segmentKey,
          records,
          warning: await warningOf(tx, segmentKey),
        }),
      },
      signal,
    )
  } catch (error) {
    if (!(error instanceof Unreadable) && !(error instanceof ForgeRequestFailed)) throw error
    const outcome = allowPartial ? 'skipped' : 'failed'
    return { outcome, segmentKey: null, records: null, reason: error.message }
  }
}

/** Waits until the forge can be asked again, because there is no queue to return the job to. */
async function readRecords(
  parts: ArchiveParts,
  forge: NonNullable<ArchiveParts['forge']>,
  facts: RepositoryFacts,
  signal: AbortSignal,
): Promise<RepositoryRecords> {
  const order = {
    repository: { owner: facts.owner.login, name: facts.name },
    reader: 'export',
    task: randomUUID(),
    excludeAttachments: false,
    excludeReleases: false,
    onProgress: async () => {},
  }
  for (;;) {
    try {
      return await obtainRecords({ ...parts, forge }, order, signal)
    } catch (error) {
      if (!(error instanceof ForgeUnavailable)) throw error
      parts.onWait?.(fullNameOf(facts), error)
      await sleep(Math.max(0, error.dueAt - parts.now()), undefined, { signal })
    }
  }
}

export function formatRepositoryResult({ facts, ...end }: RepositoryResult): string {
  const name = fullNameOf(facts)
  if ('reason' in end) return `${end.outcome}: ${withName(name, end.reason)}`
  const line = `${name}: ${end.outcome}${end.warning === null ? '' : `; warning: ${end.warning}`}`
  return [line, ...formatRecords(end.records)].join('\n  ')
}

function formatRecords(records: RecordsEnd): string[] {
  if (!records) return []
  const { count, asOf, notes } = records
  return [`${count} issues and pull requests as of ${new Date(asOf).toISOString()}`, ...notes]
}
