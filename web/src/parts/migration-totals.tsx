import { isPartial } from '../../../src/lib/is-partial.ts'
import { formatBytes, formatDuration, formatNumber, percent } from '../quantities.ts'
import { isUnfinished, type Progress } from '../wire.ts'
import { Bar, type BarTone } from './bar.tsx'
import { Box } from './box.tsx'
import { type ShownState, shownState } from './migration-state.tsx'
import styles from './migration-totals.module.css'
import { Moment } from './moment.tsx'

/** The progress of the whole migration: a bar and its numbers. */
export function MigrationTotals({ progress }: { progress: Progress }) {
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
        <dl className={styles.figures}>
          <Figure
            name="Repositories"
            value={`${formatNumber(totals.exported)} of ${formatNumber(totals.repositories)}`}
          />
          <Figure
            name="Size"
            value={
              isUnfinished(state)
                ? `${formatBytes(totals.bytes_done)} of ${formatBytes(totals.bytes_expected)}`
                : formatBytes(totals.bytes_done)
            }
          />
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

function recordsIn({ state, totals }: Progress): string {
  const done = formatNumber(totals.records_done)
  return isUnfinished(state) ? `${done} of ${formatNumber(totals.records_expected)}` : done
}

/** The progress by bytes, or by repositories if the bytes are unknown. */
function totalPercent({ state, totals }: Progress): number {
  if (isPartial({ state, repositories: totals }))
    return percent(totals.exported, totals.repositories)
  if (state === 'exported') return 100
  if (state === 'pending') return 0
  if (totals.bytes_expected > 0) return percent(totals.bytes_done, totals.bytes_expected)
  return percent(totals.repositories - totals.remaining, totals.repositories)
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
  return (
    <span className={styles.quiet}>
      {totals.bytes_per_second !== null && `${formatBytes(totals.bytes_per_second)}/s`}
      {totals.seconds_left !== null && ` · ${formatDuration(totals.seconds_left)} left`}
    </span>
  )
}

function Figure(props: { name: string; value: string; tone?: BarTone }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd data-tone={props.tone}>{props.value}</dd>
    </div>
  )
}
