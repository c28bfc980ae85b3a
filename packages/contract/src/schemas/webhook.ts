import type { Migration, Summary } from './migration.ts'
import * as S from './schema.ts'
import type { Organization, User } from './user.ts'

const actions = ['exported', 'partial', 'failed', 'cancelled'] as const
const subscribableEvents = [
  '*',
  'migration',
  ...actions.map((action) => `migration.${action}` as const),
] as const

const EVENTS_DESCRIPTION =
  'The events to send: `migration` whenever a migration ends, or any of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for all events. `ping` is sent to every webhook: when it is added as active, and on request.'

const stringOrNumber = S.anyOf([S.string, S.number])

const url = S.uri.describe('The URL that events are sent to, by POST.')

const configFields = {
  url: url.refusing({ pattern: '^[Hh][Tt][Tt][Pp][Ss]?://[^/?#@]+([/?#].*)?$', maxLength: 2048 }),
  content_type: S.enumOf(['json', 'form']).describe(
    '`json`, or `form` to send the JSON as the `payload` field of a form.',
  ),
  secret: S.string
    .describe(
      'The key of the signatures in the headers `x-hub-signature-256` and `x-hub-signature`. Responses contain `********` instead. Send `********` to keep the secret, or an empty string to remove it.',
      { maxLength: 1000 },
    )
    .refusing({ pattern: '^[^\\u0000]*$' }),
  insecure_ssl: stringOrNumber
    .describe('Always `0`: certificates are verified. Other values are rejected.')
    .refusing({ enum: ['0', 0] }),
}

export const webhookConfigSchema = S.object(
  { ...configFields, url, insecure_ssl: S.enumOf(['0']) },
  { description: 'Where and how the events of a webhook are sent.', optional: ['secret'] },
)

export const webhookConfigChangeSchema = S.request(configFields, {
  examples: [{ content_type: 'json' }],
})

const webhookFields = {
  name: S.string.describe('Always `web`.').refusing({ enum: ['web'] }),
  events: S.arrayOf(S.string.refusing({ enum: subscribableEvents }))
    .describe(EVENTS_DESCRIPTION)
    .refusing({ minItems: 1 }),
  active: S.boolean.describe('Whether events are sent.'),
}

const EXAMPLE_URL = 'https://ci.example.com/godwit'

export const webhookRequestSchema = S.request(
  {
    ...webhookFields,
    events: { ...webhookFields.events, default: ['migration'] },
    active: { ...webhookFields.active, default: true },
    config: S.request(configFields, { required: ['url'] }),
  },
  {
    required: ['config'],
    examples: [
      { name: 'web', events: ['migration'], config: { url: EXAMPLE_URL, content_type: 'json' } },
    ],
  },
)

/** Omitted fields do not change, so no field has a default. */
export const webhookChangeSchema = S.request(
  { ...webhookFields, config: S.request(configFields) },
  { examples: [{ active: true, events: ['migration.failed', 'migration.partial'] }] },
)

export const webhookSchema = S.described('A webhook: a URL that is notified when migrations end.', {
  type: S.enumOf(['User', 'Organization']).describe(
    'The type of the account that owns the webhook.',
  ),
  id: S.integer,
  name: S.enumOf(['web']),
  active: S.boolean,
  events: S.arrayOf(S.enumOf(subscribableEvents)).describe(EVENTS_DESCRIPTION),
  config: S.ref<WebhookConfig>('webhook-config'),
  ...S.each(['created_at', 'updated_at'], S.dateTime),
  ...S.each(['url', 'ping_url', 'deliveries_url'], S.uri),
  last_response: {
    ...S.object({
      code: S.nullable(S.integer),
      status: S.enumOf(['unused', 'active', 'failing']).describe(
        '`unused` before the first delivery, `failing` while events cannot be delivered, otherwise `active`.',
      ),
      message: S.stringOrNull,
    }),
    description:
      'The result of the last delivery. GitHub sends it only for webhooks of repositories.',
  },
  disabled_reason: S.stringOrNull.describe(`Why the server disabled the webhook. ${S.EXTENSION}`),
})

const deliveryFields = {
  id: S.integer,
  guid: S.uuid.describe(
    'The id of the event, as in the header of the request that ends in `-delivery`. It is the same for every attempt.',
  ),
  delivered_at: S.dateTime,
  redelivery: S.boolean.describe('Whether an earlier attempt sent the same event.'),
  duration: S.number.describe('The duration of the attempt in seconds.'),
  status: S.string.describe('`OK`, or why the attempt failed.'),
  status_code: S.integer.describe('The HTTP status of the response, or 0 if there was none.'),
  event: S.enumOf(['migration', 'ping']),
  action: S.stringOrNull,
  ...S.each(['installation_id', 'repository_id', 'throttled_at'], S.nullSchema),
  state: S.enumOf(['waiting', 'delivered', 'given_up']).describe(
    `The current state of the event, not the result of this attempt. ${S.EXTENSION}`,
  ),
  next_attempt_at: S.dateTimeOrNull.describe(
    `When the event will be sent again, or null. ${S.EXTENSION}`,
  ),
  migration_id: S.nullable(S.integer).describe(
    `The migration that ended; null for a ping. ${S.EXTENSION}`,
  ),
}

export const webhookDeliverySchema = S.described(
  'An attempt to deliver an event to a webhook.',
  deliveryFields,
)

/** The payload of a `migration` event. */
export const webhookEventSchema = S.object(
  {
    action: S.enumOf(actions).describe('How the migration ended.'),
    migration: S.ref<Migration>('migration'),
    summary: S.ref<Summary>('summary'),
    sender: S.ref<User>('user'),
    organization: S.ref<Organization>('organization'),
  },
  {
    description:
      'The payload of a `migration` event, which is sent when a migration has ended. It does not list the repositories.',
    optional: ['organization'],
  },
)

const headers = S.mapOf(S.string)

const anyObject: S.Schema<Record<string, unknown>> = { type: 'object', additionalProperties: true }

export const fullWebhookDeliverySchema = S.described(
  'An attempt to deliver an event to a webhook, with its request and response.',
  {
    ...deliveryFields,
    url: S.string,
    request: S.object({ headers, payload: anyObject }),
    response: S.object({
      headers: S.nullable(headers),
      payload: S.stringOrNull.describe('The first 4096 bytes of the response body.'),
    }),
  },
)

export type Webhook = S.Static<typeof webhookSchema>
export type WebhookConfig = S.Static<typeof webhookConfigSchema>
export type WebhookConfigChange = S.Static<typeof webhookConfigChangeSchema>
export type WebhookRequest = S.Static<typeof webhookRequestSchema>
export type WebhookChange = S.Static<typeof webhookChangeSchema>
export type WebhookDelivery = S.Static<typeof webhookDeliverySchema>
export type FullWebhookDelivery = S.Static<typeof fullWebhookDeliverySchema>
export type WebhookEvent = S.Static<typeof webhookEventSchema>
