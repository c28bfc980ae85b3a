import { Button, ConfirmationDialog } from '@primer/react'
import { useState } from 'react'
import { failureOf } from '../failure.ts'
import { announce } from './announcements.tsx'
import styles from './operator-action.module.css'

interface OperatorActionProps {
  /** The text of the button. */
  name: string
  /** The label for screen readers, such as `Cancel migration 7`. */
  label: string
  question: string
  /** The explanation in the dialog. */
  consequence: string
  act(): Promise<unknown>
  /** Called after a success and after a failure. */
  onDone(): void
  isDanger?: boolean
}

/** A button that asks for confirmation, acts, and shows a failure. */
export function OperatorAction(props: OperatorActionProps) {
  const { name, label, question, consequence, act, onDone, isDanger = true } = props
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
        size="small"
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
          confirmButtonContent={name}
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
