import type { RepositoryEnd } from '../exporter/export-archive.ts'
import { inUnits } from '../migrations/report.ts'
import { fullNameOf } from '../repositories/facts.ts'

/** What became of an export: what was asked, carried, unchanged, omitted and why, in which size and time. */
export interface ExportReport {
  /** As it is written to a file, for programs. */
  json(): Record<string, unknown>
  /** For people. */
  text(): string
}

export function exportReport(
  ends: readonly RepositoryEnd[],
  { archiveBytes, seconds }: { archiveBytes: number; seconds: number },
): ExportReport {
  const count = (outcome: RepositoryEnd['outcome']) =>
    ends.filter((end) => end.outcome === outcome).length
  const [unchanged, omitted] = [count('unchanged'), count('omitted')]
  const carried = count('exported') + unchanged
  return {
    json: () => ({
      asked: ends.length,
      carried,
      unchanged,
      omitted,
      archive_bytes: archiveBytes,
      seconds,
      repositories: ends.map((end) => ({
        full_name: fullNameOf(end.facts),
        outcome: end.outcome,
        reason: end.outcome === 'omitted' ? end.reason : null,
        warning: end.outcome === 'omitted' ? null : end.warning,
      })),
    }),
    text: () =>
      `${ends.length} repositories asked for: ${carried} carried (${unchanged} of them unchanged since an earlier export), ` +
      `${omitted} omitted; ${inUnits(archiveBytes)} in ${seconds.toFixed(1)} s`,
  }
}
