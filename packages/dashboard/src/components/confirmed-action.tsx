import { Button, ConfirmationDialog } from '@primer/react'
import { useState } from 'react'
import { useAction } from '../use-action.ts'
import { announce } from './announcements.tsx'
import { ButtonText } from './button-text.tsx'
import styles from './confirmed-action.module.css'

interface ConfirmedActionProps {
  /** The text of the button. */
  name: string
  /** What the button acts on, for screen readers, such as `migration 7`. */
  object: string
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
  const { name, object, question, confirmName = name, consequence, act, onDone } = props
  const { isDanger = true, size = 'small' } = props
  const [isAsking, setAsking] = useState(false)
  const { isBusy, failure, run } = useAction()

  async function perform(): Promise<void> {
    await run(async () => {
      await act()
      announce(`${name} ${object}: done`)
    })
    onDone()
  }

  return (
    <>
      <Button
        size={size}
        variant={isDanger ? 'danger' : 'default'}
        loading={isBusy}
        onClick={() => setAsking(true)}
      >
        <ButtonText text={name} object={object} />
      </Button>
      {failure && (
        <span role="alert" className={styles.failure}>
          {failure.message}
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
