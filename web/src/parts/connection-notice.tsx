import { Banner } from '@primer/react'
import type { Connection } from '../follow-progress.ts'
import styles from './connection-notice.module.css'

/** Says so when what is shown may be behind, and nothing when it is not. */
export function ConnectionNotice({ connection }: { connection: Connection }) {
  return (
    <div role="status" className={styles.place}>
      {connection === 'reconnecting' && (
        <Banner
          variant="warning"
          title="Reconnecting…"
          description="The server does not answer. The export continues; this page shows the last known state."
        />
      )}
      {connection === 'limited' && (
        <p className={styles.quiet}>Rate limit exceeded. Updating every 30 seconds.</p>
      )}
      {connection === 'polling' && (
        <p className={styles.quiet}>
          Live updates are not available on this connection. Updating every 2 seconds.
        </p>
      )}
    </div>
  )
}
