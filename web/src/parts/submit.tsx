import { Banner, Button } from '@primer/react'
import { useRef, useState } from 'react'
import { type Failure, failureOf } from '../failure.ts'
import { handFocus } from '../hand-focus.ts'
import { counted } from '../quantities.ts'
import { ChangedElsewhere } from './changed-elsewhere.tsx'
import styles from './submit.module.css'

interface SubmitProps {
  /** On the button. */
  name: string
  isReady: boolean
  submit(): Promise<void>
  /** What to say where it fails. */
  failed: string
  /** Repositories that do not exist: they are not there to be found in the list. */
  onDeselect(names: readonly string[]): void
  /** Given while others have changed what is edited. */
  onLoad?: (() => void) | undefined
}

/** The button that sends what was chosen; above it why that failed, and what can be done about it. */
export function Submit({ name, isReady, submit, failed, onDeselect, onLoad }: SubmitProps) {
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const place = useRef<HTMLDivElement>(null)
  const button = useRef<HTMLButtonElement>(null)

  async function send(): Promise<void> {
    setBusy(true)
    setFailure(undefined)
    try {
      await submit()
    } catch (error) {
      setFailure(failureOf(error))
    } finally {
      setBusy(false)
    }
  }

  /** With nothing left to send, the button takes no focus. */
  const act = (change: () => void) => handFocus(change, button.current, place.current)
  const deselect = (names: readonly string[]) =>
    act(() => {
      onDeselect(names)
      setFailure(undefined)
    })

  return (
    <div ref={place} tabIndex={-1} className={styles.submit}>
      {onLoad && <ChangedElsewhere onLoad={() => act(onLoad)} />}
      {failure && <Failed title={failed} failure={failure} onDeselect={deselect} />}
      <Button
        ref={button}
        variant="primary"
        size="large"
        block
        disabled={!isReady}
        loading={isBusy}
        onClick={() => void send()}
      >
        {name}
      </Button>
    </div>
  )
}

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
              {`Deselect ${counted(missing.length, 'repository', 'repositories')}`}
            </Banner.PrimaryAction>
          ),
        })}
      />
    </div>
  )
}
