import { formatNumber } from './quantities.ts'

interface Counts {
  skipped: number
  /** Repositories with missing LFS objects. Servers other than Godwit do not count them. */
  incomplete?: number | null | undefined
}

/** Whether a migration was exported without some of its repositories, or without some of their LFS objects. */
export const isPartial = ({
  state,
  repositories: { skipped, incomplete },
}: {
  state: string
  repositories: Counts
}): boolean => state === 'exported' && skipped + (incomplete ?? 0) > 0

/** Returns `1 skipped, 2 with missing LFS objects`; empty if nothing is missing. */
export const describeMissing = ({ skipped, incomplete }: Counts): string =>
  [
    skipped > 0 && `${formatNumber(skipped)} skipped`,
    incomplete && `${formatNumber(incomplete)} with missing LFS objects`,
  ]
    .filter((text) => typeof text === 'string')
    .join(', ')
