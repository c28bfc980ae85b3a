import { Banner } from '@primer/react'
import type { Failure } from '../failure.ts'
import styles from './out-of-date.module.css'

/** The text beside the title of a box whose data could not be updated. */
export const outOfDate = ({ message }: Failure): string => `May be out of date: ${message}`

/** A notice above data that could not be updated. */
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
