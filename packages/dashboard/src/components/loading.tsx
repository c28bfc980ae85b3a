import { Spinner } from '@primer/react'
import { SkeletonBox } from '@primer/react/experimental'
import { ScreenReaderText } from './announcements.tsx'
import styles from './loading.module.css'

export function Loading({ what }: { what: string }) {
  return (
    <div className={styles.loading}>
      <Spinner srText={null} size="large" />
      <ScreenReaderText>{what}…</ScreenReaderText>
    </div>
  )
}

/** A placeholder for a list that is loading. */
export function LoadingRows({ what, rows = 5 }: { what: string; rows?: number }) {
  return (
    <div aria-busy="true" className={styles.rows}>
      <ScreenReaderText>{what}…</ScreenReaderText>
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
