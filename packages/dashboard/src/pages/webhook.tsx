import { Banner, Button } from '@primer/react'
import { useState } from 'react'
import type { Webhook, WebhookChange } from '../api-types.ts'
import { announce } from '../components/announcements.tsx'
import { ConfirmedAction } from '../components/confirmed-action.tsx'
import { Loading } from '../components/loading.tsx'
import { OutOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import styles from '../components/webhook.module.css'
import { WebhookDeliveries } from '../components/webhook-deliveries.tsx'
import { WebhookForm, type WebhookSettings } from '../components/webhook-form.tsx'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import { useAction } from '../use-action.ts'
import { useDraft } from '../use-draft.ts'
import { useResource } from '../use-resource.ts'

const POLL_INTERVAL_MS = 10_000

/** The page of a webhook: its settings, its deliveries, and buttons to ping and delete it. */
export default function WebhookPage({ id }: { id: number }) {
  const { api, to } = useSignedIn()
  const back = { href: to.webhooks(), text: 'Webhooks' }
  const { response, failure, refresh, set } = useResource<Webhook>(
    (options) => api.webhook(id, options),
    String(id),
    POLL_INTERVAL_MS,
  )
  const [pingCount, setPingCount] = useState(0)
  if (!response) {
    if (failure) return <Problem failure={failure} onRetry={refresh} back={back} />
    return <Loading what="Loading the webhook" />
  }
  const webhook = response.data
  return (
    <>
      <PageHead
        title={`Webhook ${id}`}
        back={back}
        about={webhook.config.url}
        actions={<Actions id={id} onPinged={() => setPingCount(pingCount + 1)} />}
      />
      {failure && <OutOfDate failure={failure} />}
      {webhook.disabled_reason !== null && (
        <div role="status" className={styles.notice}>
          <Banner
            variant="warning"
            title="This webhook was deactivated"
            description={`${webhook.disabled_reason}. To try again, select Active and save.`}
          />
        </div>
      )}
      <div className={styles.sections}>
        <WebhookDeliveries id={id} pings={pingCount} />
        <Settings webhook={webhook} onSaved={set} />
      </div>
    </>
  )
}

function Settings({ webhook, onSaved }: { webhook: Webhook; onSaved(saved: Webhook): void }) {
  const { api } = useSignedIn()
  const { id, config, events, active } = webhook
  const { url, content_type } = config
  const saved = { url, content_type, events, active }
  const { draft, setDraft, isEdited, save, load } = useDraft<WebhookSettings>(saved)
  return (
    <WebhookForm
      settings={draft}
      onChange={setDraft}
      onLoad={load}
      hasSecret={config.secret !== undefined}
      isEdited={isEdited}
      name="Save changes"
      save={(secret) =>
        save(async (changes) => {
          onSaved(await api.changeWebhook(id, toWebhookChange(changes, secret)))
          announce(`Webhook ${id} saved`)
        })
      }
    />
  )
}

/** Converts edited settings to the API's request, which has the URL, the content type and the secret in `config`. */
function toWebhookChange(changes: Partial<WebhookSettings>, secret: string): WebhookChange {
  const { url, content_type, ...rest } = changes
  const config = {
    ...(url !== undefined && { url }),
    ...(content_type !== undefined && { content_type }),
    ...(secret !== '' && { secret }),
  }
  return { ...rest, config }
}

function Actions({ id, onPinged }: { id: number; onPinged(): void }) {
  const { api, to } = useSignedIn()
  const { isBusy, failure, run } = useAction()

  async function ping(): Promise<void> {
    await api.pingWebhook(id)
    announce('Ping queued')
    onPinged()
  }

  return (
    <>
      {failure && (
        <span role="alert" className={styles.bad}>
          {failure.message}
        </span>
      )}
      <Button loading={isBusy} onClick={() => void run(ping)}>
        Send ping
      </Button>
      <ConfirmedAction
        size="medium"
        name="Delete"
        object={`webhook ${id}`}
        question={`Delete webhook ${id}?`}
        consequence="It gets no more events, and its past deliveries are no longer listed."
        act={async () => {
          await api.deleteWebhook(id)
          goTo(to.webhooks())
        }}
        onDone={() => {}}
      />
    </>
  )
}
