import { Label } from '@primer/react'
import type { Schedule } from '../api-types.ts'
import { formatNumber } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { formatInBothZones, formatTiming } from './format-schedule.ts'
import { Moment } from './moment.tsx'
import styles from './schedule.module.css'
import { ScheduleActions } from './schedule-actions.tsx'
import { RunResult } from './schedule-run.tsx'

/** A schedule in the list: its timing, its last run and its actions. */
export function ScheduleRow({ schedule, onDone }: { schedule: Schedule; onDone(): void }) {
  const { to } = useSignedIn()
  return (
    <li className={styles.row}>
      <div>
        <a href={to.schedule(schedule.id)} className={styles.title}>
          {schedule.name !== null && `${schedule.name}: `}
          {formatTiming(schedule)}
        </a>{' '}
        <PausedLabel schedule={schedule} />
        <p className={styles.names}>{describeRepositories(schedule)}</p>
        <ScheduleDetails schedule={schedule} runsHref={to.schedule(schedule.id)} />
      </div>
      <ScheduleActions schedule={schedule} onDone={onDone} onDeleted={onDone} />
    </li>
  )
}

/** The next run, the last run, and the number of archives that are kept. */
export function ScheduleDetails({ schedule, runsHref }: { schedule: Schedule; runsHref?: string }) {
  const { next_run_at: next, last_run: last, keep, paused_reason: reason } = schedule
  return (
    <dl className={styles.details}>
      <div>
        <dt>Next run</dt>
        <dd>
          {next !== null && <NextRun at={next} timeZone={schedule.time_zone} />}
          {next === null && (reason ?? 'None while it is paused')}
        </dd>
      </div>
      <div>
        <dt>Last run</dt>
        <dd>
          {last === null && 'None yet'}
          {last !== null && (
            <RunResult run={last}>
              {runsHref !== undefined && (
                <a
                  href={runsHref}
                  className={styles.runs}
                  aria-label={`All runs of schedule ${schedule.id}`}
                >
                  All runs
                </a>
              )}
            </RunResult>
          )}
        </dd>
      </div>
      <div>
        <dt>Keeps</dt>
        <dd>{keep === 1 ? 'The last archive' : `The last ${formatNumber(keep)} archives`}</dd>
      </div>
    </dl>
  )
}

function NextRun({ at, timeZone }: { at: string; timeZone: string }) {
  return (
    <>
      <Moment at={at} />: {formatInBothZones(at, timeZone)}
    </>
  )
}

/** Marks a schedule that does not run: a user has paused it, or Godwit has stopped it for a reason. */
export function PausedLabel({ schedule: { paused, paused_reason } }: { schedule: Schedule }) {
  if (!paused) return null
  if (paused_reason === null) return <Label variant="attention">Paused</Label>
  return <Label variant="danger">Stopped</Label>
}

const MAX_NAMES = 3

/** Describes what a schedule exports. */
export function describeRepositories(schedule: Schedule): string {
  const { all, owner, repositories, org_metadata_only } = schedule
  if (org_metadata_only) return 'Metadata of your organizations'
  return all ? `All repositories of ${owner}, including future ones` : formatNames(repositories)
}

/** Returns the first names, and the number of the others. */
export function formatNames(repositories: readonly string[]): string {
  const names = repositories.slice(0, MAX_NAMES).join(', ')
  const more = repositories.length - MAX_NAMES
  return more > 0 ? `${names} and ${formatNumber(more)} more` : names
}
