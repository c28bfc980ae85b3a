import { contentTypes, migrationActions, subscriptions } from '../../webhooks/webhook.ts'
import {
  address,
  all,
  EXTENSION,
  flag,
  integer,
  listOf,
  moment,
  momentOrNull,
  orNull,
  recordOf,
  schemaNamed,
  text,
  textOrNull,
} from '../description/json-schema.ts'

const EVENTS =
  '`migration` for all ends of migrations, or some of `migration.exported`, `migration.partial` (exported, but some repositories were skipped), `migration.failed` and `migration.cancelled`; `*` for everything. `ping` is always sent.'

const configFields = {
  url: { ...address, description: 'Where the events are sent, by POST.' },
  content_type: {
    ...text,
    enum: contentTypes,
    description: '`json`, or `form`: the JSON as the field `payload` of a form.',
  },
  secret: {
    ...text,
    maxLength: 1000,
    description:
      'The key of the signatures `x-hub-signature-256` and `x-hub-signature`. Answers have `********` in its place; when sent, that means no change, and an empty text removes the secret.',
  },
  insecure_ssl: {
    anyOf: [text, { type: 'number' }],
    description: 'Always `0`: certificates are verified. Other values are refused.',
  },
}

export const webhookConfigSchema = recordOf(
  { ...configFields, insecure_ssl: { ...text, enum: ['0'] } },
  { description: 'Where and how a webhook is sent.', sometimes: ['secret'] },
)

export const webhookConfigChangeSchema = {
  type: 'object',
  properties: configFields,
  examples: [{ content_type: 'json' }],
}

const bodyFields = {
  name: { ...text, description: 'Always `web`.' },
  events: { ...listOf(text), description: EVENTS },
  active: { ...flag, description: 'Whether events are sent.' },
}

const SAMPLE = 'https://ci.example.com/godwit'

export const newWebhookSchema = {
  type: 'object',
  required: ['config'],
  properties: {
    ...bodyFields,
    events: { ...bodyFields.events, default: ['migration'] },
    active: { ...bodyFields.active, default: true },
    config: { type: 'object', required: ['url'], properties: configFields },
  },
  examples: [{ name: 'web', events: ['migration'], config: { url: SAMPLE, content_type: 'json' } }],
}

/** The same, each of it or none: what is not said has no default. */
export const webhookChangeSchema = {
  type: 'object',
  properties: { ...bodyFields, config: { type: 'object', properties: configFields } },
  examples: [{ active: true, events: ['migration.failed', 'migration.partial'] }],
}

export const webhookSchema = recordOf(
  {
    type: { ...text, enum: ['User', 'Organization'], description: 'Whose webhook it is.' },
    id: integer,
    name: { ...text, enum: ['web'] },
    active: flag,
    events: { ...listOf({ ...text, enum: subscriptions }), description: EVENTS },
    config: schemaNamed('webhook-config'),
    ...all(['created_at', 'updated_at'], moment),
    ...all(['url', 'ping_url', 'deliveries_url'], address),
    last_response: {
      ...recordOf({
        code: { type: ['integer', 'null'] },
        status: {
          ...text,
          enum: ['unused', 'active', 'failing'],
          description: 'Whether the last delivery succeeded.',
        },
        message: textOrNull,
      }),
      description: 'How the last delivery went. An extension of this server for organizations.',
    },
    disabled_reason: {
      ...textOrNull,
      description: `Why the server made it inactive. ${EXTENSION}`,
    },
  },
  { description: 'A webhook: an address that is told when migrations end.' },
)

const deliveryFields = {
  id: integer,
  guid: {
    ...text,
    format: 'uuid',
    description: 'Of the event: the same at every try, as in its header.',
  },
  delivered_at: moment,
  redelivery: { ...flag, description: 'Whether the event was sent before.' },
  duration: { type: 'number', description: 'In seconds.' },
  status: { ...text, description: '`OK`, or what went wrong.' },
  status_code: { ...integer, description: 'Of the answer; 0 if there was none.' },
  event: { ...text, enum: ['migration', 'ping'] },
  action: textOrNull,
  ...all(['installation_id', 'repository_id', 'throttled_at'], { type: 'null' }),
  state: {
    ...text,
    enum: ['waiting', 'delivered', 'given_up'],
    description: `Of the event by now. ${EXTENSION}`,
  },
  next_attempt_at: {
    ...momentOrNull,
    description: `When the event is sent again, if it is. ${EXTENSION}`,
  },
}

export const webhookDeliverySchema = recordOf(deliveryFields, {
  description: 'One try to deliver an event to a webhook.',
})

/** What is sent when a migration has ended. */
export const webhookEventSchema = recordOf(
  {
    action: { ...text, enum: migrationActions, description: 'How it ended.' },
    migration: schemaNamed('migration'),
    summary: schemaNamed('summary'),
    sender: schemaNamed('user'),
    organization: schemaNamed('organization'),
  },
  {
    description: 'What webhooks are told when a migration has ended; without its repositories.',
    sometimes: ['organization'],
  },
)

const headers = { type: 'object', additionalProperties: { type: 'string' } }

export const fullWebhookDeliverySchema = recordOf(
  {
    ...deliveryFields,
    url: text,
    request: recordOf({
      headers,
      payload: { type: 'object', additionalProperties: true },
    }),
    response: recordOf({
      headers: orNull(headers),
      payload: { ...textOrNull, description: 'The first 4096 bytes.' },
    }),
  },
  { description: 'One try to deliver an event to a webhook, and what was said on both sides.' },
)
