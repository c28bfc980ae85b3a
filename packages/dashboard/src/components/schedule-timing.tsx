import { FormControl, Select, TextInput } from '@primer/react'
import { useId } from 'react'
import type { Schedule } from '../api-types.ts'
import type { Failure } from '../failure.ts'
import { Box } from './box.tsx'
import { capital } from './format-schedule.ts'
import styles from './schedule.module.css'

export type Timing = Pick<Schedule, 'every' | 'weekday' | 'at' | 'time_zone' | 'keep'>

const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

interface ScheduleTimingProps {
  timing: Timing
  /** Why the server refused fields, by their names in the API. */
  problems: Failure['fields']
  onChange(timing: Timing): void
}

/** The timing of a schedule, and the number of archives to keep. */
export function ScheduleTiming({ timing, problems = {}, onChange }: ScheduleTimingProps) {
  const { weekday, at, time_zone, keep } = timing
  const zones = useId()
  const change = (some: Partial<Timing>) => onChange({ ...timing, ...some })
  return (
    <Box title="Timing">
      <div className={styles.fields}>
        <FormControl>
          <FormControl.Label>Repeats</FormControl.Label>
          <Select
            block
            value={weekday ?? 'day'}
            onChange={({ target: { value } }) => change(periodOf(value))}
          >
            <Select.Option value="day">every day</Select.Option>
            {WEEKDAYS.map((day) => (
              <Select.Option key={day} value={day}>
                {`every ${capital(day)}`}
              </Select.Option>
            ))}
          </Select>
        </FormControl>
        <FormControl>
          <FormControl.Label>At</FormControl.Label>
          <TextInput
            block
            type="time"
            value={at}
            onChange={(event) => change({ at: event.target.value })}
          />
          {problems.at && (
            <FormControl.Validation variant="error">{problems.at}</FormControl.Validation>
          )}
        </FormControl>
        <FormControl>
          <FormControl.Label>Time zone</FormControl.Label>
          <TextInput
            block
            list={zones}
            value={time_zone}
            onChange={(event) => change({ time_zone: event.target.value.trim() })}
          />
          {problems.time_zone && (
            <FormControl.Validation variant="error">{problems.time_zone}</FormControl.Validation>
          )}
        </FormControl>
        <FormControl>
          <FormControl.Label>Archives to keep</FormControl.Label>
          <TextInput
            block
            type="number"
            min={1}
            max={100}
            value={String(keep)}
            onChange={(event) => change({ keep: Number(event.target.value) })}
          />
          {problems.keep && (
            <FormControl.Validation variant="error">{problems.keep}</FormControl.Validation>
          )}
          <FormControl.Caption>
            These archives do not expire. Older ones are deleted, unless they hold the last copy of
            a repository.
          </FormControl.Caption>
        </FormControl>
        <datalist id={zones}>
          {Intl.supportedValuesOf('timeZone').map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      </div>
    </Box>
  )
}

const periodOf = (value: string): Pick<Timing, 'every' | 'weekday'> =>
  value === 'day'
    ? { every: 'day', weekday: null }
    : { every: 'week', weekday: value as Timing['weekday'] }
