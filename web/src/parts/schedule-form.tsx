import { Banner, Button } from '@primer/react'
import { type ReactNode, useState } from 'react'
import { type Failure, failureOf } from '../failure.ts'
import styles from '../pages/new-migration.module.css'
import { counted } from '../quantities.ts'
import type { StartOptions as Options, ScheduleRequest } from '../wire.ts'
import { RepositoryPicker } from './repository-picker.tsx'
import { ScheduleTiming, type Timing } from './schedule-timing.tsx'
import { timingInWords } from './schedule-words.ts'
import { StartOptions } from './start-options.tsx'

interface ScheduleFormProps {
  repositories: readonly string[]
  options: Partial<Options>
  timing: Timing
  /** On the button. */
  name: string
  save(asked: ScheduleRequest): Promise<void>
  /** Above the button, and below it. */
  above?: ReactNode
  below?(asked: ScheduleRequest): ReactNode
}

/** What is exported, when, and how many archives are kept. */
export function ScheduleForm(props: ScheduleFormProps) {
  const { name, save, above, below } = props
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set(props.repositories))
  const [options, setOptions] = useState(props.options)
  const [timing, setTiming] = useState(props.timing)
  const [isSaving, setSaving] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const needsNone = options.org_metadata_only === true
  const isReady = (needsNone || chosen.size > 0) && timing.at !== ''
  const asked = { repositories: needsNone ? [] : [...chosen], ...options, ...timing }

  async function submit(): Promise<void> {
    setSaving(true)
    setFailure(undefined)
    try {
      await save(asked)
    } catch (error) {
      setFailure(failureOf(error))
    } finally {
      setSaving(false)
    }
  }

  /** They are not there to be found in the list. */
  function deselect(names: readonly string[]): void {
    setChosen(new Set([...chosen].filter((name) => !names.includes(name))))
    setFailure(undefined)
  }

  return (
    <div className={styles.columns}>
      <div className={styles.choices}>
        <ScheduleTiming timing={timing} onChange={setTiming} />
        <RepositoryPicker chosen={chosen} onChange={setChosen} isDisabled={needsNone} />
        <StartOptions options={options} onChange={setOptions} />
      </div>
      <div className={styles.aside}>
        {above}
        <p>{timingInWords(timing)}</p>
        {failure && (
          <div role="alert">
            <Banner
              variant="critical"
              title="The schedule was not saved"
              description={failure.message}
              {...(failure.missing?.length && {
                primaryAction: (
                  <Banner.PrimaryAction onClick={() => deselect(failure.missing ?? [])}>
                    {`Deselect ${counted(failure.missing.length, 'repository', 'repositories')}`}
                  </Banner.PrimaryAction>
                ),
              })}
            />
          </div>
        )}
        <Button
          variant="primary"
          size="large"
          block
          disabled={!isReady}
          loading={isSaving}
          onClick={() => void submit()}
        >
          {name}
        </Button>
        {below?.(asked)}
      </div>
    </div>
  )
}
