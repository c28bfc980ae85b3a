import { Button } from '@primer/react'
import { useEffect, useRef, useState } from 'react'
import type { FullWebhookDelivery, WebhookDelivery } from '../api-types.ts'
import { useSignedIn } from '../session.tsx'
import { useAction } from '../use-action.ts'
import { useResource } from '../use-resource.ts'
import { announce } from './announcements.tsx'
import { Box } from './box.tsx'
import { ButtonText } from './button-text.tsx'
import { Loading } from './loading.tsx'
import { Moment } from './moment.tsx'
import { outOfDate } from './out-of-date.tsx'
import { Problem } from './problem.tsx'
import { Table } from './table.tsx'
import styles from './webhook.module.css'

const EVERY_MS = 3000

/** The deliveries of a webhook, newest first. They are read again after a ping. */
export function WebhookDeliveries({ id, pings }: { id: number; pings: number }) {
  const { api, to } = useSignedIn()
  const [shown, setShown] = useState<number>()
  const { response, failure, refresh } = useResource<WebhookDelivery[]>(
    (options) => api.webhookDeliveries(id, options),
    `${id} ${pings}`,
    EVERY_MS,
  )
  const known = useRef<WebhookDelivery[]>(undefined)
  if (response) known.current = response.data
  const deliveries = known.current
  if (!deliveries) {
    if (failure) return <Problem isPart failure={failure} onRetry={refresh} />
    return <Loading what="Loading the deliveries" />
  }
  return (
    <>
      <Table
        title="Recent deliveries"
        columns={['Delivery', 'Event', 'Migration', 'Sent', 'Result', 'Actions']}
        emptyText="No deliveries yet."
        {...(failure && { note: outOfDate(failure) })}
        rows={deliveries.map((each) => ({
          key: each.id,
          cells: [
            each.id,
            eventOf(each),
            each.migration_id === null ? (
              '—'
            ) : (
              <a key="migration" href={to.migration(each.migration_id)}>
                {each.migration_id}
              </a>
            ),
            <Moment key="sent" at={each.delivered_at} />,
            <Result key="result" delivery={each} isLatest={isLatest(deliveries, each)} />,
            <div key="actions" className={styles.actions}>
              <Button
                size="small"
                aria-label={`Details of delivery ${each.id}`}
                aria-expanded={shown === each.id}
                onClick={() => setShown(shown === each.id ? undefined : each.id)}
              >
                Details
              </Button>
              <Redeliver id={id} delivery={each.id} onDone={refresh} />
            </div>,
          ],
        }))}
      />
      {shown !== undefined && <Details key={shown} id={id} delivery={shown} />}
    </>
  )
}

const eventOf = ({ event, action, redelivery }: WebhookDelivery): string =>
  `${action === null ? event : `${event}.${action}`}${redelivery ? ' (redelivery)' : ''}`

/** Whether this is the latest delivery of its event. */
const isLatest = (all: readonly WebhookDelivery[], { id, guid }: WebhookDelivery): boolean =>
  all.find((each) => each.guid === guid)?.id === id

function Result({ delivery, isLatest }: { delivery: WebhookDelivery; isLatest: boolean }) {
  const { status, state, next_attempt_at: next } = delivery
  return (
    <div className={status === 'OK' ? styles.words : `${styles.words} ${styles.bad}`}>
      {status}
      {isLatest && state === 'given_up' && ' (given up)'}
      {isLatest && next !== null && (
        <span className={styles.quiet}>
          {' '}
          (next try <Moment at={next} />)
        </span>
      )}
    </div>
  )
}

interface RedeliverProps {
  id: number
  delivery: number
  onDone(): void
}

function Redeliver({ id, delivery, onDone }: RedeliverProps) {
  const { api } = useSignedIn()
  const { isBusy, failure, run } = useAction()

  async function perform(): Promise<void> {
    await run(async () => {
      await api.redeliver(id, delivery)
      announce(`Delivery ${delivery} will be sent again`)
    })
    onDone()
  }

  return (
    <>
      <Button size="small" loading={isBusy} onClick={() => void perform()}>
        <ButtonText text="Redeliver" object={`delivery ${delivery}`} />
      </Button>
      {failure && (
        <span role="alert" className={styles.bad}>
          {failure.message}
        </span>
      )}
    </>
  )
}

/** The request and the response of a delivery. */
function Details({ id, delivery }: { id: number; delivery: number }) {
  const { api } = useSignedIn()
  const {
    response: full,
    failure,
    refresh,
  } = useResource<FullWebhookDelivery>(
    (options) => api.webhookDelivery(id, delivery, options),
    `${id} ${delivery}`,
  )
  const container = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (full) container.current?.scrollIntoView({ block: 'nearest' })
  }, [full])
  if (!full) {
    if (failure) return <Problem isPart failure={failure} onRetry={refresh} />
    return <Loading what="Loading the delivery" />
  }
  const { guid, duration, request, response } = full.data
  return (
    <Box title={`Delivery ${delivery}`}>
      <div ref={container} className={styles.said}>
        <p>
          <code>{guid}</code>, {duration}&nbsp;s
        </p>
        <h3>Request</h3>
        <Message title="Request headers" text={linesOf(request.headers)} />
        <Message title="Request body" text={JSON.stringify(request.payload, null, 2)} />
        <h3>Response</h3>
        {response.headers === null && <p>There was no response.</p>}
        {response.headers !== null && (
          <>
            <Message title="Response headers" text={linesOf(response.headers)} />
            <Message title="Response body" text={response.payload ?? ''} />
          </>
        )}
      </div>
    </Box>
  )
}

const linesOf = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')

function Message({ title, text }: { title: string; text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section aria-label={title} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  )
}
