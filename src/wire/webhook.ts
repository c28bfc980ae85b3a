import type { Migration, Summary } from './migration.ts'
import type { Organization } from './organization.ts'
import * as s from './schema.ts'
import type { User } from './user.ts'

const actions = ['exported', 'partial', 'failed', 'cancelled'] as const
const subscribableEvents = [
  '*',
  'migration',
  ...actions.map((action) => `migration.${action}` as const),
] as const

const EVENTS_DESCRIPTION =
  'The events to send: `migration` whenever a migration ends, or any of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for all events. `ping` is sent to every webhook: when it is added as active, and on request.'

const stringOrNumber: s.Schema<string | number> = { anyOf: [s.string, s.number] }

const configFields = {
  url: s.uri.describe('The URL that events are sent to, by POST.'),
  content_type: s
    .enumOf(['json', 'form'])
    .describe('`json`, or `form` to send the JSON as the `payload` field of a form.'),
  secret: s.string.describe(
    'The key of the signatures in the headers `x-hub-signature-256` and `x-hub-signature`. Responses contain `********` instead. Send `********` to keep the secret, or an empty string to remove it.',
    { maxLength: 1000 },
  ),
  insecure_ssl: {
    ...stringOrNumber,
    description: 'Always `0`: certificates are verified. Other values are rejected.',
  },
}

export const webhookConfigSchema = s.object(
  { ...configFields, insecure_ssl: s.enumOf(['0']) },
  { description: 'Where and how the events of a webhook are sent.', optional: ['secret'] },
)

export const webhookConfigChangeSchema = s.request(configFields, {
  examples: [{ content_type: 'json' }],
})

const webhookFields = {
  name: s.string.describe('Always `web`.'),
  events: s.arrayOf(s.string).describe(EVENTS_DESCRIPTION),
  active: s.boolean.describe('Whether events are sent.'),
}

const EXAMPLE_URL = 'https://ci.example.com/godwit'

export const webhookRequestSchema = s.request(
  {
    ...webhookFields,
    events: { ...webhookFields.events, default: ['migration'] },
    active: { ...webhookFields.active, default: true },
    config: s.request(configFields, { required: ['url'] }),
  },
  {
    required: ['config'],
    examples: [
      { name: 'web', events: ['migration'], config: { url: EXAMPLE_URL, content_type: 'json' } },
    ],
  },
)

/** Omitted fields do not change, so no field has a default. */
export const webhookChangeSchema = s.request(
  { ...webhookFields, config: s.request(configFields) },
  { examples: [{ active: true, events: ['migration.failed', 'migration.partial'] }] },
)

export const webhookSchema = s.described('A webhook: a URL that is notified when migrations end.', {
  type: s
    .enumOf(['User', 'Organization'])
    .describe('The type of the account that owns the webhook.'),
  id: s.integer,
  name: s.enumOf(['web']),
  active: s.boolean,
  events: s.arrayOf(s.enumOf(subscribableEvents)).describe(EVENTS_DESCRIPTION),
  config: s.ref<WebhookConfig>('webhook-config'),
  ...s.each(['created_at', 'updated_at'], s.dateTime),
  ...s.each(['url', 'ping_url', 'deliveries_url'], s.uri),
  last_response: {
    ...s.object({
      code: s.nullable(s.integer),
      status: s
        .enumOf(['unused', 'active', 'failing'])
        .describe(
          '`unused` before the first delivery, `failing` while events cannot be delivered, otherwise `active`.',
        ),
      message: s.stringOrNull,
    }),
    description:
      'The result of the last delivery. GitHub sends it only for webhooks of repositories.',
  },
  disabled_reason: s.stringOrNull.describe(`Why the server disabled the webhook. ${s.EXTENSION}`),
})

const deliveryFields = {
  id: s.integer,
  guid: s.uuid.describe(
    'The id of the event, as in the header of the request that ends in `-delivery`. It is the same for every attempt.',
  ),
  delivered_at: s.dateTime,
  redelivery: s.boolean.describe('Whether an earlier attempt sent the same event.'),
  duration: s.number.describe('The duration of the attempt in seconds.'),
  status: s.string.describe('`OK`, or why the attempt failed.'),
  status_code: s.integer.describe('The HTTP status of the response, or 0 if there was none.'),
  event: s.enumOf(['migration', 'ping']),
  action: s.stringOrNull,
  ...s.each(['installation_id', 'repository_id', 'throttled_at'], s.nullSchema),
  state: s
    .enumOf(['waiting', 'delivered', 'given_up'])
    .describe(`The current state of the event, not the result of this attempt. ${s.EXTENSION}`),
  next_attempt_at: s.dateTimeOrNull.describe(
    `When the event will be sent again, or null. ${s.EXTENSION}`,
  ),
}

export const webhookDeliverySchema = s.described(
  'An attempt to deliver an event to a webhook.',
  deliveryFields,
)

/** The payload of a `migration` event. */
export const webhookEventSchema = s.object(
  {
    action: s.enumOf(actions).describe('How the migration ended.'),
    migration: s.ref<Migration>('migration'),
    summary: s.ref<Summary>('summary'),
    sender: s.ref<User>('user'),
    organization: s.ref<Organization>('organization'),
  },
  {
    description:
      'The payload of a `migration` event, which is sent when a migration has ended. It does not list the repositories.',
    optional: ['organization'],
  },
)

const headers = s.mapOf(s.string)

const anyObject: s.Schema<Record<string, unknown>> = { type: 'object', additionalProperties: true }

export const fullWebhookDeliverySchema = s.described(
  'An attempt to deliver an event to a webhook, with its request and response.',
  {
    ...deliveryFields,
    url: s.string,
    request: s.object({ headers, payload: anyObject }),
    response: s.object({
      headers: s.nullable(headers),
      payload: s.stringOrNull.describe('The first 4096 bytes of the response body.'),
    }),
  },
)

export type Webhook = s.Static<typeof webhookSchema>
export type WebhookConfig = s.Static<typeof webhookConfigSchema>
export type WebhookConfigChange = s.Static<typeof webhookConfigChangeSchema>
export type WebhookRequest = s.Static<typeof webhookRequestSchema>
export type WebhookChange = s.Static<typeof webhookChangeSchema>
export type WebhookDelivery = s.Static<typeof webhookDeliverySchema>
export type FullWebhookDelivery = s.Static<typeof fullWebhookDeliverySchema>
export type WebhookEvent = s.Static<typeof webhookEventSchema>
