import { Banner } from '@primer/react'
import type { Failure } from '../failure.ts'
import styles from './out-of-date.module.css'

/** Above what was read before, while it cannot be read again. */
export function OutOfDate({ failure }: { failure: Failure }) {
  return (
    <div role="status" className={styles.notice}>
      <Banner
        variant="warning"
        title="This page may be out of date"
        description={`${failure.message} Trying again.`}
      />
    </div>
  )
}
