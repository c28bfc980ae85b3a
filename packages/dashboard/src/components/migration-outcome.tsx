import { shortReason } from '@godwit/contract/schemas/describe-outcome'
import { Banner } from '@primer/react'
import type { Progress, Summary } from '../api-types.ts'
import { formatBytes, formatCount, formatCounts } from '../quantities.ts'
import styles from './migration-outcome.module.css'
import { Moment } from './moment.tsx'

const MAX_SHOWN = 5
const KEPT = 'Exported repositories are kept for some time: a retry exports only the others.'

/** The result of a migration and the state of its archive; nothing while it is running. */
export function MigrationOutcome(props: { migration: Summary; progress: Progress }) {
  const { migration, progress } = props
  const { archive } = migration
  const others = progress.repositories.filter(({ reason }) => reason !== null)
  const incomplete = progress.repositories.filter((each) => each.missing_lfs_objects > 0)
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
  if (!archive)
    return (
      <Banner
        variant="info"
        title="The archive no longer exists"
        description="It has expired or was deleted. Run the migration again to create a new one. Unchanged repositories are reused."
      />
    )
  if (archive.damaged)
    return (
      <Banner
        variant="critical"
        title="The archive is damaged"
        description={
          <>
            <p>
              Its stored data has changed since the export. Run the migration again: damaged
              repositories are exported again.
            </p>
            <Reasons others={others} />
          </>
        }
      />
    )
  return (
    <Banner
      variant={others.length + incomplete.length > 0 ? 'warning' : 'success'}
      title={
        others.length + incomplete.length > 0
          ? `The archive is ready, with ${formatCounts(migration.repositories)}`
          : 'The archive is ready'
      }
      description={
        <>
          <p>
            Archive: {formatBytes(archive.bytes)}, verified
            {incomplete.length > 0 && ' except for LFS objects that the host does not have'}. It can
            be downloaded until it expires <Moment at={archive.expires_at} />.
          </p>
          <Reasons others={[...others, ...incomplete]} />
        </>
      }
    />
  )
}

/** The repositories that are not in the archive, or not completely, with short reasons. The list of repositories has the details. */
function Reasons({ others }: { others: Progress['repositories'] }) {
  if (others.length === 0) return null
  return (
    <ul className={styles.reasons}>
      {others.slice(0, MAX_SHOWN).map(({ full_name, reason, missing_lfs_objects: missing }) => (
        <li key={full_name}>
          <strong>{full_name}</strong>:{' '}
          {reason === null
            ? `${formatCount(missing, 'LFS object is', 'LFS objects are')} missing`
            : shortReason(reason)}
        </li>
      ))}
      {others.length > MAX_SHOWN && <li>and {others.length - MAX_SHOWN} more</li>}
    </ul>
  )
}
