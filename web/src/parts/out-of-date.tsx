import { Banner } from '@primer/react'
import type { Failure } from '../failure.ts'
import styles from './out-of-date.module.css'

/** The same beside the title of a part of a page. */
export const outOfDate = ({ message }: Failure): string => `May be out of date: ${message}`

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
