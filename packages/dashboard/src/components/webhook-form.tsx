import {
  Banner,
  Button,
  Checkbox,
  CheckboxGroup,
  FormControl,
  Radio,
  RadioGroup,
  Select,
  TextInput,
} from '@primer/react'
import { type Dispatch, type SetStateAction, useRef, useState } from 'react'
import type { WebhookConfig } from '../api-types.ts'
import { moveFocus } from '../move-focus.ts'
import { useAction } from '../use-action.ts'
import { Box } from './box.tsx'
import { ChangedElsewhere } from './changed-elsewhere.tsx'
import { INACTIVE } from './submit.tsx'
import styles from './webhook.module.css'

/** The settings of a webhook that its form edits. */
export interface WebhookSettings extends Pick<WebhookConfig, 'url' | 'content_type'> {
  events: string[]
  active: boolean
}

interface WebhookFormProps {
  settings: WebhookSettings
  onChange: Dispatch<SetStateAction<WebhookSettings>>
  hasSecret?: boolean
  /** The text of the button. */
  name: string
  /** Whether there is something to save, apart from the secret. */
  isEdited?: boolean
  /** An empty secret leaves the current one unchanged. */
  save(secret: string): Promise<void>
  /** Present if the settings were changed elsewhere: loads the new ones. */
  onLoad?: (() => void) | undefined
}

/** The form of a webhook: its URL, events and secret. */
export function WebhookForm(props: WebhookFormProps) {
  const { settings, onChange, hasSecret = false, name, isEdited = true, save, onLoad } = props
  const { url, content_type, events, active } = settings
  const [secret, setSecret] = useState('')
  const { isBusy, failure, run } = useAction()
  const button = useRef<HTMLButtonElement>(null)
  const hasChanges = isEdited || secret !== ''
  const change = (some: Partial<WebhookSettings>) => onChange((last) => ({ ...last, ...some }))

  async function submit(): Promise<void> {
    await save(secret)
    // The user may have typed another secret in the meantime.
    setSecret((last) => (last === secret ? '' : last))
  }

  return (
    <Box title="Settings">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault()
          if (hasChanges) void run(submit)
        }}
      >
        <FormControl required>
          <FormControl.Label>Payload URL</FormControl.Label>
          <TextInput
            block
            value={url}
            placeholder="https://ci.example.com/godwit"
            onChange={(event) => change({ url: event.target.value })}
          />
          <FormControl.Caption>
            Each event is sent to this URL by POST. Redirects are not followed.
          </FormControl.Caption>
        </FormControl>
        <FormControl>
          <FormControl.Label>Content type</FormControl.Label>
          <Select
            value={content_type}
            onChange={({ target: { value } }) =>
              change({ content_type: value === 'form' ? value : 'json' })
            }
          >
            <Select.Option value="json">application/json</Select.Option>
            <Select.Option value="form">application/x-www-form-urlencoded</Select.Option>
          </Select>
        </FormControl>
        <FormControl>
          <FormControl.Label>Secret</FormControl.Label>
          <TextInput
            block
            type="password"
            autoComplete="new-password"
            value={secret}
            onChange={(event) => setSecret(event.target.value)}
          />
          <FormControl.Caption>
            {hasSecret
              ? 'A secret is set. Leave this empty to keep it.'
              : 'Signs each request, so that you can verify that it comes from this server.'}
          </FormControl.Caption>
        </FormControl>
        <WebhookEvents events={events} onChange={(next) => change({ events: next })} />
        <FormControl>
          <Checkbox
            checked={active}
            onChange={(event) => change({ active: event.target.checked })}
          />
          <FormControl.Label>Active</FormControl.Label>
          <FormControl.Caption>
            Events are sent only while the webhook is active.
          </FormControl.Caption>
        </FormControl>
        {onLoad && <ChangedElsewhere onLoad={() => moveFocus(onLoad, button.current)} />}
        {failure && (
          <div role="alert">
            <Banner
              variant="critical"
              title="The webhook was not saved"
              description={failure.message}
            />
          </div>
        )}
        <div>
          <Button
            ref={button}
            type="submit"
            variant="primary"
            loading={isBusy}
            {...(!hasChanges && !isBusy && INACTIVE)}
            disabled={url === '' || events.length === 0}
          >
            {name}
          </Button>
        </div>
      </form>
    </Box>
  )
}

const ENDS = [
  { event: 'migration.exported', name: 'Exported', about: 'The archive is ready.' },
  {
    event: 'migration.partial',
    name: 'Partly exported',
    about: 'Some repositories were skipped.',
  },
  { event: 'migration.failed', name: 'Failed', about: 'There is no archive.' },
  { event: 'migration.cancelled', name: 'Cancelled', about: 'The migration was cancelled.' },
] as const

interface WebhookEventsProps {
  events: string[]
  onChange(events: string[]): void
}

/** Whether a webhook gets all events: `migration` or `*`. */
export const isAll = (events: readonly string[]) => events.some((each) => !each.includes('.'))

/** Selects all events or some. Each selection is kept while the other one is shown. */
function WebhookEvents({ events, onChange }: WebhookEventsProps) {
  const [last, setLast] = useState<{ all: string[]; some: string[] }>({
    all: ['migration'],
    some: [],
  })
  function choose(next: 'all' | 'some'): void {
    setLast({ ...last, [isAll(events) ? 'all' : 'some']: events })
    onChange(last[next])
  }
  const withEnd = (end: string, isOn: boolean): string[] =>
    ENDS.map(({ event }) => event).filter((each) => (each === end ? isOn : events.includes(each)))
  return (
    <>
      <RadioGroup name="events">
        <RadioGroup.Label>Which events trigger this webhook?</RadioGroup.Label>
        <FormControl>
          <Radio value="all" checked={isAll(events)} onChange={() => choose('all')} />
          <FormControl.Label>All events</FormControl.Label>
        </FormControl>
        <FormControl>
          <Radio value="some" checked={!isAll(events)} onChange={() => choose('some')} />
          <FormControl.Label>Individual events</FormControl.Label>
        </FormControl>
      </RadioGroup>
      {!isAll(events) && (
        <CheckboxGroup>
          <CheckboxGroup.Label>A migration is…</CheckboxGroup.Label>
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
