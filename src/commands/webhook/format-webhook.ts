import type {
  DeliveryResponse,
  FullDeliveryResponse,
  WebhookResponse,
} from '../../client/responses.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { ago } from '../command-line.ts'

type Row = readonly string[]

export function webhookRows(webhooks: readonly WebhookResponse[]): Row[] {
  return [
    ['ID', 'STATE', 'EVENTS', 'ADDRESS', 'LAST DELIVERY'],
    ...webhooks.map((each) => [
      String(each.id),
      stateOf(each),
      each.events.join(','),
      each.config.url,
      each.last_response?.message ?? '-',
    ]),
  ]
}

const stateOf = ({ active }: WebhookResponse): string => (active ? 'active' : 'inactive')

export function describeWebhook(webhook: WebhookResponse): string {
  const { id, events, config, last_response, disabled_reason } = webhook
  const lines = [
    `webhook ${id} is ${stateOf(webhook)}${disabled_reason ? `: ${disabled_reason}` : ''}`,
    `address        ${config.url}`,
    `events         ${events.join(', ')}`,
    `content type   ${config.content_type}`,
    `secret         ${config.secret === undefined ? 'none: deliveries are not signed' : 'set'}`,
    `last delivery  ${last_response?.message ?? 'none yet'}`,
  ]
  return lines.map(escapeForTerminal).join('\n')
}

export function deliveryRows(deliveries: readonly DeliveryResponse[]): Row[] {
  return [
    ['ID', 'EVENT', 'SENT', 'STATUS', 'NEXT'],
    ...deliveries.map((each, index) => [
      String(each.id),
      eventOf(each) + (each.redelivery ? ' (again)' : ''),
      ago(each.delivered_at),
      each.status,
      isLatest(deliveries, index) ? nextOf(each) : '-',
    ]),
  ]
}

const eventOf = ({ event, action }: DeliveryResponse): string =>
  action === null ? event : `${event}.${action}`

/** Of those of one event, newest first. */
const isLatest = (deliveries: readonly DeliveryResponse[], index: number): boolean =>
  deliveries.findIndex(({ guid }) => guid === deliveries[index]!.guid) === index

function nextOf({ state, next_attempt_at }: DeliveryResponse): string {
  if (state === 'given_up') return 'given up'
  return ago(next_attempt_at ?? null)
}

export function describeDelivery(delivery: FullDeliveryResponse): string {
  const { request, response } = delivery
  const lines = [
    `${eventOf(delivery)}: ${delivery.status}`,
    `delivery  ${delivery.guid}`,
    `duration  ${delivery.duration} s`,
    '',
    'Request:',
    ...headerLines(request.headers),
    '',
    ...indented(JSON.stringify(request.payload, null, 2)),
    ...(response.headers === null ? [] : ['', 'Response:', ...headerLines(response.headers)]),
    ...(response.payload ? ['', ...indented(response.payload)] : []),
  ]
  return lines.map(escapeForTerminal).join('\n')
}

const headerLines = (headers: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`)

/** So that no line of it is taken for one of ours. */
const indented = (text: string): string[] => text.split('\n').map((line) => `  ${line}`)
