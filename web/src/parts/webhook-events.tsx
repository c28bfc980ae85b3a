import { Checkbox, CheckboxGroup, FormControl, Radio, RadioGroup } from '@primer/react'
import { useState } from 'react'

const ENDS = [
  { event: 'migration.exported', name: 'Exported', about: 'The archive is ready.' },
  {
    event: 'migration.partial',
    name: 'Exported in part',
    about: 'Some repositories were skipped.',
  },
  { event: 'migration.failed', name: 'Failed', about: 'There is no archive.' },
  { event: 'migration.cancelled', name: 'Cancelled', about: 'Somebody cancelled it.' },
] as const

interface WebhookEventsProps {
  events: string[]
  onChange(events: string[]): void
}

/** Every end of a migration, by whichever name, or some. Whoever goes back to the one finds it as it was. */
export function WebhookEvents({ events, onChange }: WebhookEventsProps) {
  const isAll = events.some((each) => !each.includes('.'))
  const [last, setLast] = useState<{ all: string[]; some: string[] }>({
    all: ['migration'],
    some: [],
  })
  function choose(next: 'all' | 'some'): void {
    setLast({ ...last, [isAll ? 'all' : 'some']: events })
    onChange(last[next])
  }
  const withEnd = (end: string, isOn: boolean): string[] =>
    ENDS.map(({ event }) => event).filter((each) => (each === end ? isOn : events.includes(each)))
  return (
    <>
      <RadioGroup name="events">
        <RadioGroup.Label>Events</RadioGroup.Label>
        <FormControl>
          <Radio value="all" checked={isAll} onChange={() => choose('all')} />
          <FormControl.Label>Every end of a migration</FormControl.Label>
        </FormControl>
        <FormControl>
          <Radio value="some" checked={!isAll} onChange={() => choose('some')} />
          <FormControl.Label>Only some</FormControl.Label>
        </FormControl>
      </RadioGroup>
      {!isAll && (
        <CheckboxGroup>
          <CheckboxGroup.Label>Ends of migrations</CheckboxGroup.Label>
          {ENDS.map(({ event, name, about }) => (
            <FormControl key={event}>
              <Checkbox
                checked={events.includes(event)}
                onChange={({ target: { checked } }) => onChange(withEnd(event, checked))}
              />
              <FormControl.Label>{name}</FormControl.Label>
              <FormControl.Caption>{about}</FormControl.Caption>
            </FormControl>
          ))}
        </CheckboxGroup>
      )}
    </>
  )
}
