import type { RepositoryEnd } from '../../exporter/export-archive.ts'
import { duration, inUnits } from '../../lib/quantities.ts'
import { archiveWarnings } from '../../migrations/progress.ts'
import { fullNameOf } from '../../repositories/facts.ts'
import type { WrittenArchive } from './output.ts'

/** What became of an export: what was exported, reused, skipped and why, in which size and time. */
export interface ExportReport {
  /** As it is written to a file, for programs. */
  json(): Record<string, unknown>
  /** For people. */
  text(): string
}

interface Exported {
  archives: readonly WrittenArchive[]
  seconds: number
  /** What was known before there was an archive. */
  warnings: readonly string[]
}

export function exportReport(
  ends: readonly RepositoryEnd[],
  { archives, seconds, warnings: told }: Exported,
): ExportReport {
  const count = (outcome: RepositoryEnd['outcome']) =>
    ends.filter((end) => end.outcome === outcome).length
  const [reused, skipped] = [count('reused'), count('skipped')]
  const exported = count('exported') + reused
  const archiveBytes = archives.reduce((sum, { bytes }) => sum + bytes, 0)
  const ofArchives = archives.flatMap(({ bytes, of }) =>
    archiveWarnings(bytes).map((warning) => (of ? `${of.file}: ${warning}` : warning)),
  )
  const warnings = [...told, ...ofArchives]
  const own = new Map(archives.map((archive) => [archive.of?.fullName, archive]))
  return {
    json: () => ({
      total: ends.length,
      exported,
      reused,
      skipped,
      archive_bytes: archiveBytes,
      seconds,
      warnings,
      repositories: ends.map((end) => repositoryJson(end, own.get(fullNameOf(end.facts)))),
    }),
    text: () =>
      [
        ...warnings.map((warning) => `warning: ${warning}`),
        `${ends.length} repositories: ${exported} exported (${reused} of them reused), ` +
          `${skipped} skipped; ${inUnits(archiveBytes)} in ${duration(seconds)}`,
      ].join('\n'),
  }
}

function repositoryJson(end: RepositoryEnd, own: WrittenArchive | undefined) {
  return {
    full_name: fullNameOf(end.facts),
    outcome: end.outcome,
    reason: 'reason' in end ? end.reason : null,
    warning: 'reason' in end ? null : end.warning,
    records: 'reason' in end ? null : recordsJson(end.records),
    ...(own?.of && { archive: own.of.file, archive_bytes: own.bytes }),
  }
}

function recordsJson(records: Extract<RepositoryEnd, { records: unknown }>['records']) {
  if (!records) return null
  return { as_of: new Date(records.asOf).toISOString(), notes: records.notes }
}

/** What a person who watches must not miss. */
export const needsAttention = (end: RepositoryEnd): boolean =>
  'reason' in end || end.warning !== null || (end.records?.notes.length ?? 0) > 0
