import { Button } from '@primer/react'
import { useState } from 'react'
import type { Schedule } from '../api-types.ts'
import { failureOf } from '../failure.ts'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import { announce } from './announcements.tsx'
import { ButtonText } from './button-text.tsx'
import { ConfirmedAction } from './confirmed-action.tsx'
import styles from './schedule.module.css'

interface ScheduleActionsProps {
  schedule: Schedule
  onDone(): void
  /** Called after the schedule is deleted. */
  onDeleted(): void
  /** Whether these are the actions of the schedule's own page, which needs no link to itself. */
  isOnPage?: boolean
}

export function ScheduleActions(props: ScheduleActionsProps) {
  const { schedule, onDone, onDeleted, isOnPage = false } = props
  const size = isOnPage ? 'medium' : 'small'
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
      <Button size={size} loading={busy === 'run'} onClick={() => void run()}>
        <ButtonText text="Run now" object={`schedule ${id}`} />
      </Button>
      <Button size={size} loading={busy === 'pause'} onClick={() => void togglePaused()}>
        <ButtonText text={paused ? 'Resume' : 'Pause'} object={`schedule ${id}`} />
      </Button>
      {!isOnPage && (
        <Button
          size="small"
          aria-label={`Edit schedule ${id}`}
          onClick={() => goTo(to.schedule(id))}
        >
          Edit
        </Button>
      )}
      <ConfirmedAction
        size={size}
        name="Delete"
        object={`schedule ${id}`}
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
