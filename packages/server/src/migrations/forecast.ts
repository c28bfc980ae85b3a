import { Unreadable } from '@godwit/git/unreadable'
import { formatBytes } from '@godwit/lib/quantities'
import { mapConcurrent } from '@godwit/lib/turns'
import type { Scope } from '../accounts/account.ts'
import { smallestFreeBytes } from '../queue/process-store.ts'
import { fullNameOf, type RepositoryMetadata } from '../repositories/repository-metadata.ts'
import { predictSeconds } from './estimate.ts'
import { recentExports } from './outcome-store.ts'
import { archiveWarnings } from './progress.ts'
import { describeQuota, readQuota, totalBytes } from './quota.ts'
import { findSegments, problemsOf } from './segment-store.ts'
import { readRepositoryList, type StartDependencies, type StartRequest } from './start-migration.ts'

type RepositoryForecast = ReturnType<typeof nothingToExport>

export type Forecast = Awaited<ReturnType<typeof forecast>>

const CONCURRENT_EXAMINATIONS = 4

/** Returns what starting this migration would do. Throws InvalidRequest as the start would. */
export async function forecast(
  {
    installedVersion,
    ...dependencies
  }: StartDependencies & { installedVersion?: string | undefined },
  scope: Scope,
  { repositories, options }: StartRequest,
) {
  const metadata = options.orgMetadataOnly
    ? []
    : await readRepositoryList(dependencies, scope, repositories)
  const forecasts = await mapConcurrent(
    metadata,
    { concurrency: CONCURRENT_EXAMINATIONS, signal: dependencies.signal },
    async (each, stop) =>
      options.excludeGitData ? nothingToExport(each) : detectChanges(dependencies, each, stop),
  )
  const exported = forecasts.filter(({ reason }) => reason === null)
  const written = exported.filter(({ reused }) => !reused)
  const bytesToWrite = totalBytes(written)
  const recent = await recentExports(dependencies.db)
  const freeBytes = await smallestFreeBytes(dependencies.db, dependencies.now())
  const quota = await readQuota(dependencies.db, scope.owner, dependencies.maxArchiveBytes)
  const archiveBytes = totalBytes(exported)
  return {
    repositories: forecasts,
    bytesToWrite,
    /** The smallest free space of all workers; null if none reports it. */
    freeBytes,
    /** Estimated from recent exports; null if there are none that are large enough. */
    seconds: predictSeconds(
      recent,
      written.map(({ bytes }) => bytes),
    ),
    quota,
    /** Warnings about the archive. */
    warnings: [
      ...spaceWarnings(bytesToWrite, freeBytes),
      ...(quota.used + archiveBytes > quota.max ? [describeQuota(quota, archiveBytes)] : []),
      ...archiveWarnings(archiveBytes, installedVersion),
    ],
  }
}

function spaceWarnings(bytesToWrite: number, freeBytes: number | null): string[] {
  if (freeBytes === null || bytesToWrite <= freeBytes) return []
  return [
    `it does not fit on the server's disk: ${formatBytes(bytesToWrite)} to write, ${formatBytes(freeBytes)} free`,
  ]
}

function nothingToExport(metadata: RepositoryMetadata) {
  return {
    fullName: fullNameOf(metadata),
    bytes: 0,
    lfsBytes: 0,
    /** Exported before and unchanged since. */
    reused: false,
    /** Why it would be skipped. */
    reason: null as string | null,
    /** Shown although the repository can be exported. */
    warning: null as string | null,
  }
}

async function detectChanges(
  { db, source }: StartDependencies,
  metadata: RepositoryMetadata,
  signal: AbortSignal,
): Promise<RepositoryForecast> {
  const unknown = { ...nothingToExport(metadata), bytes: metadata.sizeKib * 1024 }
  const found = await source?.find(metadata.owner.login, metadata.name)
  if (!source || !found) return unknown
  try {
    const examination = await source.examine(found, signal)
    const { bytes, fingerprint, repository } = examination
    const lfsBytes = repository.lfsObjects.reduce((sum, { size }) => sum + size, 0)
    const segment = (await findSegments(db, [fingerprint])).get(fingerprint)
    const warning = segment
      ? (await problemsOf(db, segment.key)).warning
      : await source.warning(examination, signal)
    return { ...unknown, bytes, lfsBytes, reused: segment !== undefined, warning }
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return { ...unknown, reason: error.message }
  }
}
