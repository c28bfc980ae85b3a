import { Checkbox, FormControl } from '@primer/react'
import { type Dispatch, type ReactNode, type SetStateAction, useMemo } from 'react'
import styles from '../pages/new-migration.module.css'
import { formatCount } from '../quantities.ts'
import { useAction } from '../use-action.ts'
import { Box } from './box.tsx'
import { formatTiming } from './format-schedule.ts'
import { NameField } from './name-field.tsx'
import type { ChangeChosen } from './repository-picker.tsx'
import { RepositoryPicker } from './repository-picker.tsx'
import { NO_OPTIONS, optionsOf, type ScheduleSettings, timingOf } from './schedule-settings.ts'
import { ScheduleTiming } from './schedule-timing.tsx'
import { StartOptions } from './start-options.tsx'
import { Submit } from './submit.tsx'

interface ScheduleFormProps {
  settings: ScheduleSettings
  onChange: Dispatch<SetStateAction<ScheduleSettings>>
  /** The text of the button. */
  name: string
  save(): Promise<void>
  /** Whether there is something to save. */
  isEdited?: boolean
  /** Present if the settings were changed elsewhere: loads the new ones. */
  onLoad?: (() => void) | undefined
  /** Shown below the button. */
  below?: ReactNode
}

/** The form of a schedule: repositories, options and timing. */
export function ScheduleForm(props: ScheduleFormProps) {
  const { settings, onChange, name, save, isEdited, onLoad, below } = props
  const { repositories, all, org_metadata_only: needsNone, at } = settings
  const action = useAction()
  const chosen = useMemo(() => new Set(repositories), [repositories])
  const change = (some: Partial<ScheduleSettings>) => onChange((last) => ({ ...last, ...some }))
  const choose: ChangeChosen = (next) =>
    onChange((last) => {
      const now = typeof next === 'function' ? next(new Set(last.repositories)) : next
      return { ...last, repositories: [...now] }
    })

  return (
    <div className={styles.columns}>
      <div className={styles.choices}>
        <ScheduleTiming
          timing={timingOf(settings)}
          problems={action.failure?.fields}
          onChange={change}
        />
        <Box title="What to export">
          <div className={styles.scope}>
            <FormControl>
              <Checkbox checked={all} onChange={({ target }) => change({ all: target.checked })} />
              <FormControl.Label>All repositories, including future ones</FormControl.Label>
              <FormControl.Caption>
                Each run exports all repositories that exist at that time.
              </FormControl.Caption>
            </FormControl>
          </div>
        </Box>
        <div hidden={needsNone || all}>
          <RepositoryPicker chosen={chosen} onChange={choose} />
        </div>
        <StartOptions
          options={optionsOf(settings)}
          onChange={(options) => change({ ...NO_OPTIONS, ...options })}
        >
          <NameField name={settings.name} onChange={(name) => change({ name })} />
        </StartOptions>
      </div>
      <div className={styles.aside}>
        <Submit
          name={name}
          about={
            <p>
              {formatTiming(settings)}
              {!needsNone && !all && ` · ${formatCount(chosen.size, 'repository', 'repositories')}`}
            </p>
          }
          isReady={(needsNone || all || chosen.size > 0) && at !== ''}
          isEdited={isEdited}
          action={action}
          submit={save}
          failed="The schedule was not saved"
          onDeselect={(names) =>
            change({ repositories: repositories.filter((each) => !names.includes(each)) })
          }
          onLoad={onLoad}
        />
        {below}
      </div>
    </div>
  )
}
