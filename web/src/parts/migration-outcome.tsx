import { Banner } from '@primer/react'
import { bytes, counted } from '../quantities.ts'
import type { Progress, Summary } from '../wire.ts'
import styles from './migration-outcome.module.css'
import { Moment } from './moment.tsx'

const MAX_SHOWN = 5

/** How it ended, and what became of the archive. Nothing while it goes on. */
export function MigrationOutcome(props: { migration: Summary; progress: Progress }) {
  const { migration, progress } = props
  const skipped = progress.repositories.filter(({ state }) => state === 'skipped')
  if (migration.state === 'failed') {
    return (
      <Banner
        variant="critical"
        title={
          migration.reason === 'cancelled'
            ? 'This migration was cancelled'
            : 'This migration has failed'
        }
        description={
          <>
            {skipped.length === 0 && migration.reason !== 'cancelled' && <p>{migration.reason}</p>}
            <Reasons skipped={skipped} />
            <p>What was exported is kept for a while: a retry costs only what is missing.</p>
          </>
        }
      />
    )
  }
  if (migration.state !== 'exported') return null
  return (
    <>
      {skipped.length > 0 && (
        <Banner
          variant="warning"
          title={`${counted(skipped.length, 'repository is', 'repositories are')} not in the archive`}
          description={<Reasons skipped={skipped} />}
        />
      )}
      {migration.archive ? (
        <Banner
          variant="success"
          title="The archive is ready"
          description={
            <>
              {bytes(migration.archive.bytes)}, verified. It can be downloaded until it expires{' '}
              <Moment at={migration.archive.expires_at} />.
            </>
          }
        />
      ) : (
        <Banner
          variant="info"
          title="The archive is no longer here"
          description="It has expired or was deleted. Run the migration again to have another: whatever is unchanged costs only a look."
        />
      )}
    </>
  )
}

function Reasons({ skipped }: { skipped: Progress['repositories'] }) {
  if (skipped.length === 0) return null
  return (
    <ul className={styles.reasons}>
      {skipped.slice(0, MAX_SHOWN).map(({ full_name, reason }) => (
        <li key={full_name}>
          <strong>{full_name}</strong>: {reason}
        </li>
      ))}
      {skipped.length > MAX_SHOWN && <li>and {skipped.length - MAX_SHOWN} more</li>}
    </ul>
  )
}
