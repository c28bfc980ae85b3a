import { Banner, Button } from '@primer/react'
import { type ReactNode, useEffect, useRef } from 'react'
import type { Failure } from '../failure.ts'
import { moveFocus } from '../move-focus.ts'
import { formatCount } from '../quantities.ts'
import type { Action } from '../use-action.ts'
import { ChangedElsewhere } from './changed-elsewhere.tsx'
import styles from './submit.module.css'

interface SubmitProps {
  /** The text of the button. */
  name: string
  /** A one-line summary of the form, shown above the button. */
  about: ReactNode
  isReady: boolean
  /** Whether there is something to save. Otherwise the button keeps the focus, but does nothing. */
  isEdited?: boolean | undefined
  /** The state of the submission, which the form needs too to mark fields. */
  action: Action
  submit(): Promise<void>
  /** The title of the message after a failure. */
  failed: string
  /** Deselects repositories that do not exist. The list does not show them. */
  onDeselect(names: readonly string[]): void
  /** Present if the settings were changed elsewhere: loads the new ones. */
  onLoad?: (() => void) | undefined
}

/** The submit button of a form, and the message after a failure. On a narrow screen it is a footer that stays visible. */
export function Submit(props: SubmitProps) {
  const { name, about, isReady, isEdited = true, submit, failed, onDeselect, onLoad } = props
  const { isBusy, failure, setFailure, run } = props.action
  useFocusOnInvalidField(failure)
  const container = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)

  /** If the button is disabled, the container takes the focus. */
  const act = (change: () => void) => moveFocus(change, button.current, container.current)
  const deselect = (names: readonly string[]) =>
    act(() => {
      onDeselect(names)
      setFailure(undefined)
    })

  return (
    <div ref={container} tabIndex={-1} className={styles.submit}>
      {!failure && onLoad && <ChangedElsewhere onLoad={() => act(onLoad)} />}
      {failure && <Failed title={failed} failure={failure} onDeselect={deselect} />}
      {about}
      <Button
        ref={button}
        variant="primary"
        size="large"
        block
        disabled={!isReady}
        loading={isBusy}
        {...(!isEdited && !isBusy && INACTIVE)}
        onClick={() => {
          if (isEdited) void run(submit)
        }}
      >
        {name}
      </Button>
    </div>
  )
}

/** Moves the focus to the first field that the server refused, which may be far from the button. */
function useFocusOnInvalidField(failure: Failure | undefined): void {
  useEffect(() => {
    if (failure) document.querySelector<HTMLElement>('#main [aria-invalid="true"]')?.focus()
  }, [failure])
}

/** The properties of a button that has nothing to do, but can be focused. */
export const INACTIVE = { inactive: true, 'aria-disabled': true } as const

interface FailedProps extends Pick<SubmitProps, 'onDeselect'> {
  title: string
  failure: Failure
}

function Failed({ title, failure, onDeselect }: FailedProps) {
  const { message, missing = [] } = failure
  return (
    <div role="alert">
      <Banner
        variant="critical"
        title={title}
        description={message}
        {...(missing.length > 0 && {
          primaryAction: (
            <Banner.PrimaryAction onClick={() => onDeselect(missing)}>
              {`Deselect ${formatCount(missing.length, 'repository', 'repositories')}`}
            </Banner.PrimaryAction>
          ),
        })}
      />
    </div>
  )
}
