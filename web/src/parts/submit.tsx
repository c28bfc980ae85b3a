import { Banner, Button } from '@primer/react'
import { type ReactNode, useRef } from 'react'
import type { Failure } from '../failure.ts'
import { moveFocus } from '../move-focus.ts'
import { formatCount } from '../quantities.ts'
import { useAction } from '../use-action.ts'
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
  const { isBusy, failure, setFailure, run } = useAction()
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
