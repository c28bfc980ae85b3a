import type { Migration, Summary } from './migration.ts'
import type { Organization } from './organization.ts'
import {
  arrayOf,
  boolean,
  dateTime,
  EXTENSION,
  each,
  enumOf,
  integer,
  mapOf,
  nothing,
  nullable,
  number,
  object,
  ref,
  request,
  type Schema,
  type Static,
  string,
  uri,
  uuid,
} from './schema.ts'
import type { User } from './user.ts'

const actions = ['exported', 'partial', 'failed', 'cancelled'] as const
const subscriptions = [
  '*',
  'migration',
  ...actions.map((action) => `migration.${action}` as const),
] as const

const EVENTS =
  '`migration` for all ends of migrations, or some of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for everything. `ping` is always sent.'

const stringOrNumber: Schema<string | number> = { anyOf: [string, number] }

const configFields = {
  url: { ...uri, description: 'Where the events are sent, by POST.' },
  content_type: {
    ...enumOf(['json', 'form']),
    description: '`json`, or `form`: the JSON as the field `payload` of a form.',
  },
  secret: {
    ...string,
    maxLength: 1000,
    description:
      'The key of the signatures `x-hub-signature-256` and `x-hub-signature`. Answers have `********` in its place; when sent, that means no change, and an empty text removes the secret.',
  },
  insecure_ssl: {
    ...stringOrNumber,
    description: 'Always `0`: certificates are verified. Other values are refused.',
  },
}

export const webhookConfigSchema = object(
  { ...configFields, insecure_ssl: enumOf(['0']) },
  { description: 'Where and how a webhook is sent.', optional: ['secret'] },
)

export const webhookConfigChangeSchema = request(configFields, {
  examples: [{ content_type: 'json' }],
})

const bodyFields = {
  name: { ...string, description: 'Always `web`.' },
  events: { ...arrayOf(string), description: EVENTS },
  active: { ...boolean, description: 'Whether events are sent.' },
}

const SAMPLE = 'https://ci.example.com/godwit'

export const webhookRequestSchema = request(
  {
    ...bodyFields,
    events: { ...bodyFields.events, default: ['migration'] },
    active: { ...bodyFields.active, default: true },
    config: request(configFields, { required: ['url'] }),
  },
  {
    required: ['config'],
    examples: [
      { name: 'web', events: ['migration'], config: { url: SAMPLE, content_type: 'json' } },
    ],
  },
)

/** Fields that are not sent do not change, so they have no defaults. */
export const webhookChangeSchema = request(
  { ...bodyFields, config: request(configFields) },
  { examples: [{ active: true, events: ['migration.failed', 'migration.partial'] }] },
)

export const webhookSchema = object(
  {
    type: { ...enumOf(['User', 'Organization']), description: 'Whose webhook it is.' },
    id: integer,
    name: enumOf(['web']),
    active: boolean,
    events: { ...arrayOf(enumOf(subscriptions)), description: EVENTS },
    config: ref<WebhookConfig>('webhook-config'),
    ...each(['created_at', 'updated_at'], dateTime),
    ...each(['url', 'ping_url', 'deliveries_url'], uri),
    last_response: {
      ...object({
        code: nullable(integer),
        status: {
          ...enumOf(['unused', 'active', 'failing']),
          description: 'Whether the last delivery succeeded.',
        },
        message: nullable(string),
      }),
      description: 'How the last delivery went. An extension of this server for organizations.',
    },
    disabled_reason: {
      ...nullable(string),
      description: `Why the server made it inactive. ${EXTENSION}`,
    },
  },
  { description: 'A webhook: an address that is notified when migrations end.' },
)

const deliveryFields = {
  id: integer,
  guid: {
    ...uuid,
    description: 'Of the event: the same at every try, as in its header.',
  },
  delivered_at: dateTime,
  redelivery: { ...boolean, description: 'Whether the event was sent before.' },
  duration: { ...number, description: 'In seconds.' },
  status: { ...string, description: '`OK`, or what went wrong.' },
  status_code: { ...integer, description: 'Of the answer; 0 if there was none.' },
  event: enumOf(['migration', 'ping']),
  action: nullable(string),
  ...each(['installation_id', 'repository_id', 'throttled_at'], nothing),
  state: {
    ...enumOf(['waiting', 'delivered', 'given_up']),
    description: `Of the event by now. ${EXTENSION}`,
  },
  next_attempt_at: {
    ...nullable(dateTime),
    description: `When the event is sent again, if it is. ${EXTENSION}`,
  },
}

export const webhookDeliverySchema = object(deliveryFields, {
  description: 'One try to deliver an event to a webhook.',
})

/** The payload of an event `migration`. */
export const webhookEventSchema = object(
  {
    action: { ...enumOf(actions), description: 'How it ended.' },
    migration: ref<Migration>('migration'),
    summary: ref<Summary>('summary'),
    sender: ref<User>('user'),
    organization: ref<Organization>('organization'),
  },
  {
    description:
      'The payload of an event `migration`, sent when a migration has ended; without its repositories.',
    optional: ['organization'],
  },
)

const headers = mapOf(string)

const anyObject: Schema<Record<string, unknown>> = {
  type: 'object',
  additionalProperties: true,
}

export const fullWebhookDeliverySchema = object(
  {
    ...deliveryFields,
    url: string,
    request: object({
      headers,
      payload: anyObject,
    }),
    response: object({
      headers: nullable(headers),
      payload: { ...nullable(string), description: 'The first 4096 bytes.' },
    }),
  },
  { description: 'One try to deliver an event to a webhook, and what was said on both sides.' },
)

export type Webhook = Static<typeof webhookSchema>
export type WebhookConfig = Static<typeof webhookConfigSchema>
export type WebhookConfigChange = Static<typeof webhookConfigChangeSchema>
export type WebhookRequest = Static<typeof webhookRequestSchema>
export type WebhookChange = Static<typeof webhookChangeSchema>
export type WebhookDelivery = Static<typeof webhookDeliverySchema>
export type FullWebhookDelivery = Static<typeof fullWebhookDeliverySchema>
export type WebhookEvent = Static<typeof webhookEventSchema>
