import { describeMissing } from '@godwit/contract/schemas/describe-outcome'
import { formatCount, formatNumber } from '@godwit/lib/quantities'

export {
  formatBytes,
  formatCount,
  formatDuration,
  formatKib,
  formatNumber,
  formatRelativeTime,
} from '@godwit/lib/quantities'

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
