import { isPartial, shortReason } from '@godwit/contract/schemas/describe-outcome'
import { CalendarIcon, HourglassIcon, LockIcon, PackageIcon } from '@primer/octicons-react'
import { isUnfinished, type Summary, titleOf } from '../api-types.ts'
import { formatBytes, formatCount, formatCounts, formatNumber, percent } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { Bar } from './bar.tsx'
import styles from './migration-row.module.css'
import { StateIcon, shownState, stateWord } from './migration-state.tsx'
import { Moment } from './moment.tsx'

/** A migration in the list. */
export function MigrationRow({ migration }: { migration: Summary }) {
  const { to } = useSignedIn()
  const { id, state, repositories, archive, held_locks: locks } = migration
  const ended = repositories.total - repositories.remaining
  return (
    <li className={styles.row}>
      <div className={styles.icon}>
        <StateIcon state={shownState(state, repositories)} />
      </div>
      <div className={styles.words}>
        <a href={to.migration(id)} className={styles.title}>
          {titleOf('migration', migration)}
        </a>
        <p className={styles.names}>{named(migration)}</p>
        <p className={styles.about} data-partial={isPartial({ state, repositories })}>
          {describe(migration)}
        </p>
        {isUnfinished(state) && (
          <div className={styles.bar}>
            <Bar
              label={`Migration ${id}: repositories done`}
              percent={percent(ended, repositories.total)}
              tone="accent"
            />
            <span className={styles.small}>{formatCounts(repositories)}</span>
          </div>
        )}
      </div>
      <ul className={styles.details}>
        <li>
          <CalendarIcon />
          <Moment at={migration.created_at} />
        </li>
        {archive && (
          <>
            <li>
              <PackageIcon /> archive {formatBytes(archive.bytes)}
              {archive.damaged && ', damaged'}
            </li>
            <li>
              <HourglassIcon />
              <span>
                expires <Moment at={archive.expires_at} />
              </span>
            </li>
          </>
        )}
        {state === 'exported' && !archive && (
          <li>
            <PackageIcon /> archive deleted or expired
          </li>
        )}
        {locks > 0 && (
          <li>
            <LockIcon /> {formatCount(locks, 'lock')} held
          </li>
        )}
      </ul>
    </li>
  )
}

/** The summary has only the first names. */
function named({ names, repositories, org_metadata_only }: Summary): string {
  if (org_metadata_only) return 'Metadata of your organizations'
  const more = repositories.total - names.length
  return more > 0 ? `${names.join(', ')} and ${formatNumber(more)} more` : names.join(', ')
}

function describe(migration: Summary): string {
  const { state, reason, repositories } = migration
  const what = formatCount(repositories.total, 'repository', 'repositories')
  if (state === 'cancelled') return `${what} · cancelled`
  if (state === 'failed') return `${what} · ${firstReason(reason ?? 'failed')}`
  if (isPartial({ state, repositories })) return formatCounts(repositories)
  if (state === 'exported') return what
  return `${what} · ${stateWord(state).toLowerCase()}`
}

/** Shortens a reason, which has one line per repository that begins with its name. */
export function firstReason(reason: string): string {
  const [line = '', ...others] = reason.split('\n')
  const [name = ''] = /^[^\s:]+\/[^\s:]+: /.exec(line) ?? []
  const first = name + shortReason(line.slice(name.length))
  return others.length === 0 ? first : `${first}, and ${formatNumber(others.length)} more`
}
