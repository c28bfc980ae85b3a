import { Button } from '@primer/react'
import { useState } from 'react'
import { failureOf } from '../failure.ts'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import type { Schedule } from '../wire.ts'
import { announce } from './announcements.tsx'
import { OperatorAction } from './operator-action.tsx'
import styles from './schedule.module.css'

interface ScheduleActionsProps {
  schedule: Schedule
  onDone(): void
  /** Called after the schedule is deleted. */
  onDeleted(): void
  /** Whether to show the Edit button. False on the page that contains the form. */
  showsEdit?: boolean
}

export function ScheduleActions(props: ScheduleActionsProps) {
  const { schedule, onDone, onDeleted, showsEdit = true } = props
  const { id, paused } = schedule
  const { api, to } = useSignedIn()
  const [busy, setBusy] = useState('')
  const [failure, setFailure] = useState('')

  async function perform(what: string, act: () => Promise<string>): Promise<void> {
    setBusy(what)
    setFailure('')
    try {
      announce(await act())
    } catch (error) {
      setFailure(failureOf(error).message)
    } finally {
      setBusy('')
      onDone()
    }
  }
  const run = () =>
    perform('run', async () => `Migration ${(await api.runSchedule(id)).migration_id} started`)
  const togglePaused = () =>
    perform('pause', async () => {
      await api.changeSchedule(id, { paused: !paused })
      return `Schedule ${id} ${paused ? 'resumed' : 'paused'}`
    })

  return (
    <div className={styles.actions}>
      <Button
        size="small"
        aria-label={`Run now: schedule ${id}`}
        loading={busy === 'run'}
        onClick={() => void run()}
      >
        Run now
      </Button>
      <Button
        size="small"
        aria-label={`${paused ? 'Resume' : 'Pause'} schedule ${id}`}
        loading={busy === 'pause'}
        onClick={() => void togglePaused()}
      >
        {paused ? 'Resume' : 'Pause'}
      </Button>
      {showsEdit && (
        <Button
          size="small"
          aria-label={`Edit schedule ${id}`}
          onClick={() => goTo(to.schedule(id))}
        >
          Edit
        </Button>
      )}
      <OperatorAction
        name="Delete"
        label={`Delete schedule ${id}`}
        question={`Delete schedule ${id}?`}
        consequence="It does not run again. Its migrations stay in the list, and their archives expire like all others."
        act={async () => {
          await api.deleteSchedule(id)
          onDeleted()
        }}
        onDone={onDone}
      />
      {failure && (
        <span role="alert" className={styles.bad}>
          {failure}
        </span>
      )}
    </div>
  )
}
