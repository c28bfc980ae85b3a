import { isUnfinished, type Progress, type RepositoryProgress } from '../api-types.ts'
import { formatBytes, formatDuration, formatNumber, percent } from '../quantities.ts'
import { Bar, type BarTone } from './bar.tsx'
import { Box } from './box.tsx'
import { type ShownState, shownState } from './migration-state.tsx'
import styles from './migration-totals.module.css'
import { Moment } from './moment.tsx'

/** The progress of the whole migration: a bar and its numbers. */
export function MigrationTotals({ progress, id }: { progress: Progress; id: number }) {
  const { state, totals } = progress
  return (
    <Box title="Progress" aside={<Speed progress={progress} />}>
      <div className={styles.body}>
        <Bar
          isThick
          label="All repositories"
          percent={totalPercent(progress)}
          tone={TONES[shownState(state, totals)]}
        />
        <Current progress={progress} id={id} />
        <dl className={styles.figures}>
          <Figure
            name="Repositories"
            value={`${formatNumber(totals.exported)} of ${formatNumber(totals.repositories)}`}
          />
          <Figure name="Size" value={sizeIn(progress)} />
          {totals.records_expected > 0 && (
            <Figure name="Issues and pull requests" value={recordsIn(progress)} />
          )}
          <Figure name="Reused (unchanged)" value={formatNumber(totals.reused)} />
          <Figure
            name="Skipped"
            value={formatNumber(totals.skipped)}
            {...(totals.skipped > 0 && { tone: 'attention' })}
          />
          <Figure
            name="Failed"
            value={formatNumber(totals.failed)}
            {...(totals.failed > 0 && { tone: 'danger' })}
          />
        </dl>
      </div>
    </Box>
  )
}

const TONES: Record<ShownState, BarTone> = {
  pending: 'accent',
  exporting: 'accent',
  exported: 'success',
  partial: 'attention',
  failed: 'danger',
  cancelled: 'neutral',
}

/** Sizes are those of the repository index until the export of a repository begins. */
function sizeIn({ state, totals, repositories }: Progress): string {
  const done = formatBytes(totals.bytes_done)
  if (!isUnfinished(state)) return done
  const about = repositories.some((each) => each.state === 'waiting') ? 'about ' : ''
  const whole = `${about}${formatBytes(totals.bytes_expected)}`
  return totals.bytes_done === 0 ? whole : `${done} of ${whole}`
}

function recordsIn({ state, totals }: Progress): string {
  const done = formatNumber(totals.records_done)
  return isUnfinished(state) ? `${done} of ${formatNumber(totals.records_expected)}` : done
}

/** After the end, the part of the repositories that is exported. */
function totalPercent({ state, totals }: Progress): number {
  const isComplete = state === 'exported' && totals.skipped === 0
  if (isUnfinished(state) || isComplete) return totals.percent
  return percent(totals.exported, totals.repositories)
}

const MAX_CURRENT = 4

/** What happens now, with the repositories in work. */
function Current({ progress, id }: { progress: Progress; id: number }) {
  const { totals, repositories } = progress
  if (totals.phase === null) return null
  const inWork = repositories.filter(({ phase }) => phase !== null && phase !== 'queued')
  const more = inWork.length - MAX_CURRENT
  return (
    <div className={styles.current}>
      <p>
        <strong>{totals.percent} %</strong> {PHASE_TEXTS[totals.phase]}
      </p>
      {totals.stalled_since !== null && (
        <Stall since={totals.stalled_since} waitingFor={totals.waiting_for ?? ''} id={id} />
      )}
      {inWork.length > 0 && (
        <ul aria-label="In work">
          {inWork.slice(0, MAX_CURRENT).map((each) => (
            <li key={each.full_name}>
              <span className={styles.name}>{each.full_name}</span> {describePhase(each)}
            </li>
          ))}
          {more > 0 && <li>and {formatNumber(more)} more</li>}
        </ul>
      )}
    </div>
  )
}

/** Since when nothing advances, what it waits for, and how an operator finds the reason. */
function Stall(props: { since: string; waitingFor: string; id: number }) {
  const { since, waitingFor, id } = props
  const from = `${since.slice(0, 16).replace('T', ' ')} UTC`
  return (
    <div role="status" className={styles.stall}>
      <p>
        No progress: the last was <Moment at={since} />. Waiting for {waitingFor}. The log of the
        service says more:
      </p>
      <code>
        journalctl --unit 'godwit*' --since '{from}' | grep -E '"migration(Id)?":{id}\b'
      </code>
    </div>
  )
}

const PHASE_TEXTS: Record<NonNullable<Progress['totals']['phase']>, string> = {
  waiting: 'Waiting for a worker',
  records: 'Reading issues and pull requests',
  packing: 'Exporting git data',
  sealing: 'Sealing the archive: metadata and manifest are written',
}

function describePhase({ phase, records, bytes_done, bytes_expected }: RepositoryProgress): string {
  if (phase === 'records') {
    const { done = 0, expected = 0 } = records ?? {}
    const counts = expected > 0 ? `, ${formatNumber(done)} of ${formatNumber(expected)}` : ''
    return `reading issues and pull requests${counts}`
  }
  return `packing, ${formatBytes(bytes_done)} of ${formatBytes(bytes_expected)}`
}

function Speed({ progress }: { progress: Progress }) {
  const { state, totals, started_at, ended_at } = progress
  if (state === 'pending') return <span className={styles.quiet}>Waiting</span>
  if (!isUnfinished(state)) {
    if (started_at === null || ended_at === null) return null
    const seconds = (Date.parse(ended_at) - Date.parse(started_at)) / 1000
    return <span className={styles.quiet}>Took {formatDuration(seconds)}</span>
  }
  if (totals.waiting_until !== null)
    return (
      <span className={styles.quiet}>
        Waiting for the forge, next try <Moment at={totals.waiting_until} />
      </span>
    )
  if (totals.stalled_since !== null) return <span className={styles.quiet}>No progress</span>
  const parts = [
    totals.bytes_per_second !== null && `${formatBytes(totals.bytes_per_second)}/s`,
    totals.seconds_left !== null && `about ${formatDuration(totals.seconds_left)} left`,
  ].filter((part) => part !== false)
  return <span className={styles.quiet}>{parts.join(' · ')}</span>
}

function Figure(props: { name: string; value: string; tone?: BarTone }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd data-tone={props.tone}>{props.value}</dd>
    </div>
  )
}
