import { Button, ConfirmationDialog } from '@primer/react'
import { useState } from 'react'
import { failureOf } from '../failure.ts'
import { announce } from './announcements.tsx'
import styles from './confirmed-action.module.css'

interface ConfirmedActionProps {
  /** The text of the button. */
  name: string
  /** The label for screen readers, such as `Cancel migration 7`. */
  label: string
  question: string
  /** The text of the button that confirms, if it differs from that of the button. */
  confirmName?: string
  /** The explanation in the dialog. */
  consequence: string
  act(): Promise<unknown>
  /** Called after a success and after a failure. */
  onDone(): void
  isDanger?: boolean
  size?: 'small' | 'medium'
}

/** A button that asks for confirmation, acts, and shows a failure. */
export function ConfirmedAction(props: ConfirmedActionProps) {
  const { name, label, question, confirmName = name, consequence, act, onDone } = props
  const { isDanger = true, size = 'small' } = props
  const [isAsking, setAsking] = useState(false)
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState('')

  async function perform(): Promise<void> {
    setBusy(true)
    setFailure('')
    try {
      await act()
      announce(`${label}: done`)
    } catch (error) {
      setFailure(failureOf(error).message)
    } finally {
      setBusy(false)
      onDone()
    }
  }

  return (
    <>
      <Button
        size={size}
        variant={isDanger ? 'danger' : 'default'}
        loading={isBusy}
        aria-label={label}
        onClick={() => setAsking(true)}
      >
        {name}
      </Button>
      {failure && (
        <span role="alert" className={styles.failure}>
          {failure}
        </span>
      )}
      {isAsking && (
        <ConfirmationDialog
          title={question}
          confirmButtonContent={confirmName}
          confirmButtonType={isDanger ? 'danger' : 'primary'}
          cancelButtonContent="Go back"
          onClose={(gesture) => {
            setAsking(false)
            if (gesture === 'confirm') void perform()
          }}
        >
          {consequence}
        </ConfirmationDialog>
      )}
    </>
  )
}
