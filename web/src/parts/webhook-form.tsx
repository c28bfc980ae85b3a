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
import { useState } from 'react'
import { type Failure, failureOf } from '../failure.ts'
import type { Webhook, WebhookRequest } from '../wire.ts'
import { Box } from './box.tsx'
import styles from './webhook.module.css'

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

interface WebhookFormProps {
  /** What it is now, where it is there. */
  webhook?: Webhook
  /** On the button. */
  name: string
  save(asked: WebhookRequest): Promise<void>
}

/** Where events are sent, which, and what they are signed with. */
export function WebhookForm({ webhook, name, save }: WebhookFormProps) {
  const [url, setUrl] = useState(webhook?.config.url ?? '')
  const [contentType, setContentType] = useState(webhook?.config.content_type ?? 'json')
  const [secret, setSecret] = useState('')
  const [isAll, setAll] = useState(webhook?.events.some((each) => !each.includes('.')) ?? true)
  const [ends, setEnds] = useState<readonly string[]>(webhook?.events ?? [])
  const [isActive, setActive] = useState(webhook?.active ?? true)
  const [isSaving, setSaving] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const chosen = ENDS.map(({ event }) => event).filter((event) => ends.includes(event))

  async function submit(): Promise<void> {
    setSaving(true)
    setFailure(undefined)
    try {
      await save({
        config: { url, content_type: contentType, ...(secret !== '' && { secret }) },
        events: isAll ? ['migration'] : chosen,
        active: isActive,
      })
      setSecret('')
    } catch (error) {
      setFailure(failureOf(error))
    } finally {
      setSaving(false)
    }
  }

  return (
    <Box title="Settings">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <FormControl required>
          <FormControl.Label>Address</FormControl.Label>
          <TextInput
            block
            value={url}
            placeholder="https://ci.example.com/godwit"
            onChange={(event) => setUrl(event.target.value)}
          />
          <FormControl.Caption>
            Events are sent there by POST. Redirects are not followed.
          </FormControl.Caption>
        </FormControl>
        <FormControl>
          <FormControl.Label>Content type</FormControl.Label>
          <Select
            value={contentType}
            onChange={({ target: { value } }) => setContentType(value === 'form' ? value : 'json')}
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
            {webhook?.config.secret === undefined
              ? 'Signs every event, so that the receiver knows that it is from here.'
              : 'A secret is set. Leave this empty to keep it.'}
          </FormControl.Caption>
        </FormControl>
        <RadioGroup name="events" onChange={(value) => setAll(value === 'all')}>
          <RadioGroup.Label>Events</RadioGroup.Label>
          <FormControl>
            <Radio value="all" checked={isAll} onChange={() => setAll(true)} />
            <FormControl.Label>Every end of a migration</FormControl.Label>
          </FormControl>
          <FormControl>
            <Radio value="some" checked={!isAll} onChange={() => setAll(false)} />
            <FormControl.Label>Only some</FormControl.Label>
          </FormControl>
        </RadioGroup>
        {!isAll && (
          <CheckboxGroup>
            <CheckboxGroup.Label>Ends of migrations</CheckboxGroup.Label>
            {ENDS.map(({ event, name: end, about }) => (
              <FormControl key={event}>
                <Checkbox
                  checked={ends.includes(event)}
                  onChange={({ target: { checked } }) =>
                    setEnds(checked ? [...ends, event] : ends.filter((each) => each !== event))
                  }
                />
                <FormControl.Label>{end}</FormControl.Label>
                <FormControl.Caption>{about}</FormControl.Caption>
              </FormControl>
            ))}
          </CheckboxGroup>
        )}
        <FormControl>
          <Checkbox checked={isActive} onChange={(event) => setActive(event.target.checked)} />
          <FormControl.Label>Active</FormControl.Label>
          <FormControl.Caption>An inactive webhook is sent nothing.</FormControl.Caption>
        </FormControl>
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
            type="submit"
            variant="primary"
            loading={isSaving}
            disabled={url === '' || (!isAll && chosen.length === 0)}
          >
            {name}
          </Button>
        </div>
      </form>
    </Box>
  )
}
