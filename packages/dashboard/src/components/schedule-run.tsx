import { shortReason } from '@godwit/contract/schemas/describe-outcome'
import type { ReactNode } from 'react'
import type { ScheduleRun } from '../api-types.ts'
import { useSignedIn } from '../session.tsx'
import { firstReason } from './migration-row.tsx'
import { Moment } from './moment.tsx'
import styles from './schedule.module.css'

interface RunResultProps {
  run: ScheduleRun
  /** Shown after the result, before the reasons. */
  children?: ReactNode
}

/** The result of a run: its migration, or why none was started. */
export function RunResult({ run, children }: RunResultProps) {
  const { to } = useSignedIn()
  const { migration_id: id, state, reason, skipped_repositories: skipped } = run
  const isBad = state === 'failed' || state === 'skipped'
  return (
    <>
      <span data-bad={isBad} className={styles.state}>
        {id === null ? state : <a href={to.migration(id)}>{`Migration ${id}`}</a>}
        {id !== null && ` ${state}`}
      </span>
      {' · '}
      <Moment at={run.created_at} />
      {children}
      {reason !== null && <p className={styles.bad}>{firstReason(reason)}</p>}
      {skipped.map(({ full_name, reason }) => (
        <p key={full_name} className={styles.bad}>
          Skipped {full_name}: {shortReason(reason)}
        </p>
      ))}
    </>
  )
}
