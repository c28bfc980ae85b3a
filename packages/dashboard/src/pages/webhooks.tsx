import { pathsOf } from '@godwit/contract/client/paths'
import { PlusIcon, WebhookIcon } from '@primer/octicons-react'
import { Button, Label } from '@primer/react'
import { Blankslate } from '@primer/react/experimental'
import type { Webhook } from '../api-types.ts'
import { Box } from '../components/box.tsx'
import { CopyCurl, curl } from '../components/copy-curl.tsx'
import { LoadingRows } from '../components/loading.tsx'
import { OutOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import styles from '../components/webhook.module.css'
import { isAll } from '../components/webhook-form.tsx'
import { formatCount } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'

const EVERY_MS = 10_000

export default function WebhooksPage() {
  const { api, mediaType, org, to } = useSignedIn()
  const { response, failure, refresh } = useResource<Webhook[]>(
    (options) => api.webhooks(options),
    'webhooks',
    EVERY_MS,
  )
  const list = { path: pathsOf(org).webhooks }
  return (
    <>
      <PageHead
        title={org === undefined ? 'Webhooks' : `Webhooks of ${org}`}
        about="A webhook sends a request to your URL when a migration ends."
        actions={
          <>
            <Button as="a" href={to.newWebhook()} variant="primary" leadingVisual={PlusIcon}>
              New webhook
            </Button>
            <CopyCurl commands={[{ name: 'List webhooks', command: curl(mediaType, list) }]} />
          </>
        }
      />
      {failure && response && <OutOfDate failure={failure} />}
      {!response && failure && <Problem isPart failure={failure} onRetry={refresh} />}
      {!response && !failure && <LoadingRows what="Loading webhooks" />}
      {response?.data.length === 0 && <NoneYet />}
      {response && response.data.length > 0 && (
        <Box title={formatCount(response.data.length, 'webhook')}>
          <ul>
            {response.data.map((each) => (
              <WebhookRow key={each.id} webhook={each} />
            ))}
          </ul>
        </Box>
      )}
    </>
  )
}

function WebhookRow({ webhook }: { webhook: Webhook }) {
  const { to } = useSignedIn()
  const { id, config, events, active, disabled_reason, last_response } = webhook
  const isBad = disabled_reason !== null || last_response.status === 'failing'
  return (
    <li className={styles.row}>
      <div className={styles.about}>
        <a href={to.webhook(id)} className={styles.title}>
          {config.url}
        </a>
        <p className={styles.quiet}>{isAll(events) ? 'All events' : events.join(', ')}</p>
      </div>
      <p className={isBad ? styles.bad : styles.quiet}>
        {active ? `Last delivery: ${last_response.message ?? 'none yet'}` : disabled_reason}{' '}
        {!active && <Label variant="attention">Inactive</Label>}
      </p>
    </li>
  )
}

function NoneYet() {
  const { to } = useSignedIn()
  return (
    <Blankslate border spacious>
      <Blankslate.Visual>
        <WebhookIcon size="medium" />
      </Blankslate.Visual>
      <Blankslate.Heading>No webhooks yet</Blankslate.Heading>
      <Blankslate.Description>
        A webhook sends a POST request to your URL when a migration is exported, fails or is
        cancelled. The requests have the format and the signature of GitHub's webhooks.
      </Blankslate.Description>
      <Blankslate.PrimaryAction href={to.newWebhook()}>Create a webhook</Blankslate.PrimaryAction>
    </Blankslate>
  )
}
