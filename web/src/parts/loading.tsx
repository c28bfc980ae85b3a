import { Spinner } from '@primer/react'
import { SkeletonBox } from '@primer/react/experimental'
import { Unseen } from './announcements.tsx'
import styles from './loading.module.css'

export function Loading({ what }: { what: string }) {
  return (
    <div className={styles.loading}>
      <Spinner srText={null} size="large" />
      <Unseen>{what}…</Unseen>
    </div>
  )
}

/** The shape of a list that is on its way. */
export function LoadingRows({ what, rows = 5 }: { what: string; rows?: number }) {
  return (
    <div aria-busy="true" className={styles.rows}>
      <Unseen>{what}…</Unseen>
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <div key={row} className={styles.row}>
          <SkeletonBox height="16px" width={`${[38, 52, 44][row % 3]}%`} />
          <SkeletonBox height="12px" width={`${[60, 40, 70][row % 3]}%`} />
        </div>
      ))}
    </div>
  )
}
