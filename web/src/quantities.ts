import { describeMissing } from '../../src/lib/describe-outcome.ts'
import { formatCount, formatNumber } from '../../src/lib/quantities.ts'

export {
  formatBytes,
  formatCount,
  formatDuration,
  formatKib,
  formatNumber,
  formatRelativeTime,
} from '../../src/lib/quantities.ts'

/** Returns `9 of 10 repositories, 1 skipped`. */
export function formatCounts(counts: {
  total: number
  exported: number
  incomplete: number
  skipped: number
}): string {
  const { total, exported } = counts
  const some = `${formatNumber(exported)} of ${formatCount(total, 'repository', 'repositories')}`
  const missing = describeMissing(counts)
  return missing === '' ? some : `${some}, ${missing}`
}

export const percent = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.min((part / whole) * 100, 100)
