import { counted, number } from '../../src/lib/quantities.ts'

export {
  counted,
  duration,
  fromNow,
  inUnits as bytes,
  number,
} from '../../src/lib/quantities.ts'

/** Returns `9 of 10 repositories, 1 skipped`. */
export function formatCounts(counts: { total: number; exported: number; skipped: number }): string {
  const { total, exported, skipped } = counts
  const some = `${number(exported)} of ${counted(total, 'repository', 'repositories')}`
  return skipped === 0 ? some : `${some}, ${number(skipped)} skipped`
}

export const percent = (part: number, whole: number): number =>
  whole === 0 ? 0 : Math.min((part / whole) * 100, 100)
