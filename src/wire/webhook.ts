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
  nullable,
  nullSchema,
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
const subscribableEvents = [
  '*',
  'migration',
  ...actions.map((action) => `migration.${action}` as const),
] as const

const EVENTS_DESCRIPTION =
  'The events to send: `migration` whenever a migration ends, or any of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for all events. `ping` is always sent.'

const stringOrNumber: Schema<string | number> = { anyOf: [string, number] }

const configFields = {
  url: { ...uri, description: 'The URL that events are sent to, by POST.' },
  content_type: {
    ...enumOf(['json', 'form']),
    description: '`json`, or `form` to send the JSON as the `payload` field of a form.',
  },
  secret: {
    ...string,
    maxLength: 1000,
    description:
      'The key of the signatures in the headers `x-hub-signature-256` and `x-hub-signature`. Responses contain `********` instead. Send `********` to keep the secret, or an empty string to remove it.',
  },
  insecure_ssl: {
    ...stringOrNumber,
    description: 'Always `0`: certificates are verified. Other values are rejected.',
  },
}

export const webhookConfigSchema = object(
  { ...configFields, insecure_ssl: enumOf(['0']) },
  { description: 'Where and how the events of a webhook are sent.', optional: ['secret'] },
)

export const webhookConfigChangeSchema = request(configFields, {
  examples: [{ content_type: 'json' }],
})

const webhookFields = {
  name: { ...string, description: 'Always `web`.' },
  events: { ...arrayOf(string), description: EVENTS_DESCRIPTION },
  active: { ...boolean, description: 'Whether events are sent.' },
}

const EXAMPLE_URL = 'https://ci.example.com/godwit'

export const webhookRequestSchema = request(
  {
    ...webhookFields,
    events: { ...webhookFields.events, default: ['migration'] },
    active: { ...webhookFields.active, default: true },
    config: request(configFields, { required: ['url'] }),
  },
  {
    required: ['config'],
    examples: [
      { name: 'web', events: ['migration'], config: { url: EXAMPLE_URL, content_type: 'json' } },
    ],
  },
)

/** Omitted fields do not change, so no field has a default. */
export const webhookChangeSchema = request(
  { ...webhookFields, config: request(configFields) },
  { examples: [{ active: true, events: ['migration.failed', 'migration.partial'] }] },
)

export const webhookSchema = object(
  {
    type: {
      ...enumOf(['User', 'Organization']),
      description: 'The type of the account that owns the webhook.',
    },
    id: integer,
    name: enumOf(['web']),
    active: boolean,
    events: { ...arrayOf(enumOf(subscribableEvents)), description: EVENTS_DESCRIPTION },
    config: ref<WebhookConfig>('webhook-config'),
    ...each(['created_at', 'updated_at'], dateTime),
    ...each(['url', 'ping_url', 'deliveries_url'], uri),
    last_response: {
      ...object({
        code: nullable(integer),
        status: {
          ...enumOf(['unused', 'active', 'failing']),
          description:
            '`unused` before the first delivery, `failing` while events cannot be delivered, otherwise `active`.',
        },
        message: nullable(string),
      }),
      description:
        'The result of the last delivery. An extension of this server for organizations.',
    },
    disabled_reason: {
      ...nullable(string),
      description: `Why the server disabled the webhook. ${EXTENSION}`,
    },
  },
  { description: 'A webhook: a URL that is notified when migrations end.' },
)

const deliveryFields = {
  id: integer,
  guid: {
    ...uuid,
    description:
      'The id of the event, as in the header of the request. It is the same for every attempt.',
  },
  delivered_at: dateTime,
  redelivery: { ...boolean, description: 'Whether an earlier attempt sent the same event.' },
  duration: { ...number, description: 'The duration of the attempt in seconds.' },
  status: { ...string, description: '`OK`, or why the attempt failed.' },
  status_code: {
    ...integer,
    description: 'The HTTP status of the response, or 0 if there was none.',
  },
  event: enumOf(['migration', 'ping']),
  action: nullable(string),
  ...each(['installation_id', 'repository_id', 'throttled_at'], nullSchema),
  state: {
    ...enumOf(['waiting', 'delivered', 'given_up']),
    description: `The current state of the event, not the result of this attempt. ${EXTENSION}`,
  },
  next_attempt_at: {
    ...nullable(dateTime),
    description: `When the event will be sent again, or null. ${EXTENSION}`,
  },
}

export const webhookDeliverySchema = object(deliveryFields, {
  description: 'An attempt to deliver an event to a webhook.',
})

/** The payload of a `migration` event. */
export const webhookEventSchema = object(
  {
    action: { ...enumOf(actions), description: 'How the migration ended.' },
    migration: ref<Migration>('migration'),
    summary: ref<Summary>('summary'),
    sender: ref<User>('user'),
    organization: ref<Organization>('organization'),
  },
  {
    description:
      'The payload of a `migration` event, which is sent when a migration has ended. It does not list the repositories.',
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
      payload: { ...nullable(string), description: 'The first 4096 bytes of the response body.' },
    }),
  },
  { description: 'An attempt to deliver an event to a webhook, with its request and response.' },
)

export type Webhook = Static<typeof webhookSchema>
export type WebhookConfig = Static<typeof webhookConfigSchema>
export type WebhookConfigChange = Static<typeof webhookConfigChangeSchema>
export type WebhookRequest = Static<typeof webhookRequestSchema>
export type WebhookChange = Static<typeof webhookChangeSchema>
export type WebhookDelivery = Static<typeof webhookDeliverySchema>
export type FullWebhookDelivery = Static<typeof fullWebhookDeliverySchema>
export type WebhookEvent = Static<typeof webhookEventSchema>
