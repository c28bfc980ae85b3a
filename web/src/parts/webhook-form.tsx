import { Banner, Button, Checkbox, FormControl, Select, TextInput } from '@primer/react'
import { type Dispatch, type SetStateAction, useRef, useState } from 'react'
import { type Failure, failureOf } from '../failure.ts'
import { handFocus } from '../hand-focus.ts'
import type { WebhookConfig } from '../wire.ts'
import { Box } from './box.tsx'
import { ChangedElsewhere } from './changed-elsewhere.tsx'
import styles from './webhook.module.css'
import { WebhookEvents } from './webhook-events.tsx'

/** All that can be seen and changed of a webhook. */
export interface WebhookSettings extends Pick<WebhookConfig, 'url' | 'content_type'> {
  events: string[]
  active: boolean
}

interface WebhookFormProps {
  settings: WebhookSettings
  onChange: Dispatch<SetStateAction<WebhookSettings>>
  hasSecret?: boolean
  /** On the button. */
  name: string
  /** The secret is never shown: empty, it stays. */
  save(secret: string): Promise<void>
  /** Given while others have changed them. */
  onLoad?: (() => void) | undefined
}

/** Where events are sent, which, and what they are signed with. */
export function WebhookForm(props: WebhookFormProps) {
  const { settings, onChange, hasSecret = false, name, save, onLoad } = props
  const { url, content_type, events, active } = settings
  const [secret, setSecret] = useState('')
  const [isSaving, setSaving] = useState(false)
  const [failure, setFailure] = useState<Failure>()
  const button = useRef<HTMLButtonElement>(null)
  const change = (some: Partial<WebhookSettings>) => onChange((last) => ({ ...last, ...some }))

  async function submit(): Promise<void> {
    setSaving(true)
    setFailure(undefined)
    try {
      await save(secret)
      // Another may have been typed meanwhile.
      setSecret((last) => (last === secret ? '' : last))
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
            onChange={(event) => change({ url: event.target.value })}
          />
          <FormControl.Caption>
            Events are sent there by POST. Redirects are not followed.
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
              : 'Signs every event, so that the receiver knows that it is from here.'}
          </FormControl.Caption>
        </FormControl>
        <WebhookEvents events={events} onChange={(next) => change({ events: next })} />
        <FormControl>
          <Checkbox
            checked={active}
            onChange={(event) => change({ active: event.target.checked })}
          />
          <FormControl.Label>Active</FormControl.Label>
          <FormControl.Caption>An inactive webhook is sent nothing.</FormControl.Caption>
        </FormControl>
        {onLoad && <ChangedElsewhere onLoad={() => handFocus(onLoad, button.current)} />}
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
            loading={isSaving}
            disabled={url === '' || events.length === 0}
          >
            {name}
          </Button>
        </div>
      </form>
    </Box>
  )
}
