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
          description="The server does not answer at the moment. The export goes on by itself; what is shown here is how it was last known."
        />
      )}
      {connection === 'limited' && (
        <p className={styles.quiet}>
          Your token has used up its requests for now: asking again every half minute.
        </p>
      )}
      {connection === 'polling' && (
        <p className={styles.quiet}>
          Live updates are not available on this connection: asking every two seconds instead.
        </p>
      )}
    </div>
  )
}
