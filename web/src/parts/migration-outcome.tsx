import { Banner } from '@primer/react'
import { formatBytes, formatCount, formatCounts } from '../quantities.ts'
import type { Progress, Summary } from '../wire.ts'
import styles from './migration-outcome.module.css'
import { Moment } from './moment.tsx'

const MAX_SHOWN = 5
const KEPT = 'Exported repositories are kept for some time: a retry exports only the others.'

/** The result of a migration and the state of its archive; nothing while it is running. */
export function MigrationOutcome(props: { migration: Summary; progress: Progress }) {
  const { migration, progress } = props
  const others = progress.repositories.filter(({ reason }) => reason !== null)
  if (migration.state === 'cancelled') {
    return <Banner variant="info" title="Migration cancelled" description={KEPT} />
  }
  if (migration.state === 'failed') {
    return (
      <Banner
        variant="critical"
        title="Migration failed"
        description={
          <>
            {others.length === 0 && <p>{migration.reason}</p>}
            <Reasons others={others} />
            <p>{KEPT}</p>
          </>
        }
      />
    )
  }
  if (migration.state !== 'exported') return null
  return (
    <>
      {others.length > 0 && (
        <Banner
          variant="warning"
          title={`${formatCount(others.length, 'repository is', 'repositories are')} not in the archive`}
          description={<Reasons others={others} />}
        />
      )}
      {migration.archive?.damaged && (
        <Banner
          variant="critical"
          title="The archive is damaged"
          description="Its stored data has changed since the export. Run the migration again: damaged repositories are exported again."
        />
      )}
      {migration.archive && !migration.archive.damaged && (
        <Banner
          variant={others.length > 0 ? 'warning' : 'success'}
          title={
            others.length > 0
              ? `The archive is ready, with ${formatCounts({ ...migration.repositories })}`
              : 'The archive is ready'
          }
          description={
            <>
              {formatBytes(migration.archive.bytes)}, verified. It can be downloaded until it
              expires <Moment at={migration.archive.expires_at} />.
            </>
          }
        />
      )}
      {!migration.archive && (
        <Banner
          variant="info"
          title="The archive no longer exists"
          description="It has expired or was deleted. Run the migration again to create a new one. Unchanged repositories are reused."
        />
      )}
    </>
  )
}

function Reasons({ others }: { others: Progress['repositories'] }) {
  if (others.length === 0) return null
  return (
    <ul className={styles.reasons}>
      {others.slice(0, MAX_SHOWN).map(({ full_name, reason }) => (
        <li key={full_name}>
          <strong>{full_name}</strong>: {reason}
        </li>
      ))}
      {others.length > MAX_SHOWN && <li>and {others.length - MAX_SHOWN} more</li>}
    </ul>
  )
}
