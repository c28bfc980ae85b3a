import type { RepositoryEnd } from '../exporter/export-archive.ts'
import { archiveWarnings, inUnits } from '../migrations/report.ts'
import { fullNameOf } from '../repositories/facts.ts'

/** What became of an export: what was exported, reused, skipped and why, in which size and time. */
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
  const [reused, skipped] = [count('reused'), count('skipped')]
  const exported = count('exported') + reused
  const warnings = archiveWarnings(archiveBytes)
  return {
    json: () => ({
      total: ends.length,
      exported,
      reused,
      skipped,
      archive_bytes: archiveBytes,
      seconds,
      warnings,
      repositories: ends.map((end) => ({
        full_name: fullNameOf(end.facts),
        outcome: end.outcome,
        reason: 'reason' in end ? end.reason : null,
        warning: 'reason' in end ? null : end.warning,
      })),
    }),
    text: () =>
      [
        ...warnings.map((warning) => `warning: ${warning}`),
        `${ends.length} repositories: ${exported} exported (${reused} of them reused), ` +
          `${skipped} skipped; ${inUnits(archiveBytes)} in ${seconds.toFixed(1)} s`,
      ].join('\n'),
  }
}
