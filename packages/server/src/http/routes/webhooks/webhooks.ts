import { isIP } from 'node:net'
import * as wire from '@godwit/contract/schemas/types'
import type { IsAddressAllowed } from '@godwit/lib/outgoing-requests/address-filter'
import { type FieldError, InvalidRequest } from '@godwit/lib/request-errors'
import type { FastifyRequest } from 'fastify'
import { audited } from '../../../accounts/audit-log.ts'
import * as manage from '../../../webhooks/manage-webhooks.ts'
import {
  findWebhook,
  listWebhooks,
  type Subscription,
  subscriptions,
  type Webhook,
  type WebhookSettings,
} from '../../../webhooks/webhook-store.ts'
import * as openapi from '../../description/operation.ts'
import { sendJson, sendJsonWithEtag } from '../../middleware/json-response.ts'
import { sendPageOf } from '../../middleware/pagination.ts'
import {
  actorOf,
  requireFound,
  requireId,
  requireViewer,
  type WithQuery,
} from '../../middleware/request.ts'
import {
  type AddScopedRoutes,
  callerPath,
  describeForOrganization,
  organizationPath,
  scopeOf,
} from '../../scopes/scoped-path.ts'
import type { ServerDependencies } from '../../server-dependencies.ts'
import { HIDDEN, webhookConfigJson, webhookJson } from './webhook-json.ts'

export const CALLER_WEBHOOKS_PATH = callerPath('/user/hooks')
export const ORGANIZATION_WEBHOOKS_PATH = organizationPath('/orgs/:org/hooks', forOrganization)

/** GitHub's ids of these operations begin with `orgs/` for an organization, and some end with `-for-org`. */
function forOrganization(operation: openapi.Operation): openapi.Operation {
  const name = operation.operationId.replace('users/', '')
  const suffix = name.endsWith('-config') ? '-for-org' : ''
  return describeForOrganization(operation, `orgs/${name}${suffix}`)
}

export type ByHook = WithQuery & { Params: { hook_id: string; delivery_id?: string } }

const routes = openapi.routes('Webhooks', { config: { resource: 'Hook' } })({
  'users/list-webhooks': {
    summary: 'List webhooks',
    responses: openapi.pageResponses('webhook', 'webhooks'),
  },
  'users/create-webhook': {
    summary: 'Create a webhook',
    description:
      'The URL is called when migrations end, with the headers that GitHub sends: the event is `migration`, `action` is the outcome, and the body is signed if there is a secret. A `ping` is sent first. At most 20 webhooks.',
    body: wire.webhookRequestSchema,
    responses: { 201: openapi.recordResponse('Created.', 'webhook', 'location') },
  },
  'users/get-webhook': {
    summary: 'Get a webhook',
    responses: openapi.recordResponses('The webhook.', 'webhook'),
  },
  'users/update-webhook': {
    summary: 'Change a webhook',
    description: 'Omitted fields do not change, including the secret.',
    body: wire.webhookChangeSchema,
    responses: { 200: openapi.recordResponse('Changed.', 'webhook') },
  },
  'users/delete-webhook': {
    summary: 'Delete a webhook',
    description: 'Also deletes its deliveries and the events that are waiting.',
    responses: { 204: { description: 'Deleted.' } },
  },
  'users/ping-webhook': {
    summary: 'Send a ping to a webhook',
    description:
      'Sent soon, without retries. A webhook gets at most 60 pings an hour and can have at most 500 waiting events.',
    responses: { 204: { description: 'It will be sent.' }, 422: openapi.errorResponse('invalid') },
  },
  'users/get-webhook-config': {
    summary: 'Get the configuration of a webhook',
    responses: openapi.recordResponses('The configuration.', 'webhook-config'),
  },
  'users/update-webhook-config': {
    summary: 'Change the configuration of a webhook',
    body: wire.webhookConfigChangeSchema,
    responses: { 200: openapi.recordResponse('Changed.', 'webhook-config') },
  },
})

export const addWebhookRoutes: AddScopedRoutes = (app, dependencies, { path, options }) => {
  const { addresses } = dependencies.rendering
  const one = `${path}/:hook_id`

  app.get(path, options(routes['users/list-webhooks']), async (request, reply) => {
    const all = await listWebhooks(dependencies.db, scopeOf(request))
    return sendPageOf(reply, addresses, all, (each) => webhookJson(each, addresses))
  })

  type Create = { Body: wire.WebhookRequest }
  app.post<Create>(path, options(routes['users/create-webhook']), async (request, reply) => {
    const settings = settingsFrom(request.body, undefined, dependencies.isWebhookAllowed)
    const added = await audited(dependencies, actorOf(request), (record) =>
      manage.addWebhook(dependencies, scopeOf(request), settings, pingOf(request), (tx, webhook) =>
        record(tx, 'webhook.create', aboutWebhook(webhook)),
      ),
    )
    const body = webhookJson(added, addresses)
    return sendJson(reply.code(201).header('location', body.url), body)
  })

  app.get<ByHook>(one, options(routes['users/get-webhook']), async (request, reply) =>
    sendJsonWithEtag(reply, webhookJson(await webhookInPath(dependencies, request), addresses)),
  )

  type Change = ByHook & { Body: wire.WebhookChange }
  app.patch<Change>(one, options(routes['users/update-webhook']), async (request, reply) => {
    const changed = await changeWebhook(dependencies, request, request.body)
    return sendJson(reply, webhookJson(changed, addresses))
  })

  app.delete<ByHook>(one, options(routes['users/delete-webhook']), async (request, reply) => {
    const webhook = await webhookInPath(dependencies, request)
    await audited(dependencies, actorOf(request), (record) =>
      manage.removeWebhook(dependencies, webhook, (tx) =>
        record(tx, 'webhook.delete', aboutWebhook(webhook)),
      ),
    )
    return reply.code(204).send()
  })

  app.post<ByHook>(
    `${one}/pings`,
    options(routes['users/ping-webhook']),
    async (request, reply) => {
      const webhook = await webhookInPath(dependencies, request)
      await audited(dependencies, actorOf(request), (record) =>
        manage.pingWebhook(dependencies, webhook, pingOf(request), (tx) =>
          record(tx, 'webhook.ping', aboutWebhook(webhook)),
        ),
      )
      return reply.code(204).send()
    },
  )

  const getConfigOptions = options(routes['users/get-webhook-config'])
  app.get<ByHook>(`${one}/config`, getConfigOptions, async (request, reply) =>
    sendJsonWithEtag(reply, webhookConfigJson(await webhookInPath(dependencies, request))),
  )

  type ChangeConfig = ByHook & { Body: wire.WebhookConfigChange }
  const changeConfigOptions = options(routes['users/update-webhook-config'])
  app.patch<ChangeConfig>(`${one}/config`, changeConfigOptions, async (request, reply) => {
    const changed = await changeWebhook(dependencies, request, { config: request.body })
    return sendJson(reply, webhookConfigJson(changed))
  })
}

/** Returns the webhook that the path names; throws 404 if the scope has no such webhook. */
export const webhookInPath = async (
  { db }: ServerDependencies,
  request: FastifyRequest<ByHook>,
): Promise<Webhook> =>
  requireFound(await findWebhook(db, scopeOf(request), requireId(request.params.hook_id)))

/** Returns what the audit log says about a webhook: only the host of the URL, because the rest may contain a credential. */
export const aboutWebhook = (
  { id, owner, url }: Pick<Webhook, 'id' | 'owner' | 'url'>,
  more = {},
) => ({
  subject: `webhook ${id}`,
  owner,
  details: { webhook: id, host: new URL(url).host, ...more },
})

async function changeWebhook(
  dependencies: ServerDependencies,
  request: FastifyRequest,
  body: wire.WebhookChange,
): Promise<Webhook> {
  const webhook = await webhookInPath(dependencies, request as FastifyRequest<ByHook>)
  return audited(dependencies, actorOf(request), (record) =>
    manage.editWebhook(
      dependencies,
      webhook,
      (current) => settingsFrom(body, current, dependencies.isWebhookAllowed),
      (tx, changed) => record(tx, 'webhook.update', aboutWebhook(changed)),
    ),
  )
}

const pingOf = (request: FastifyRequest): manage.PingSubject => ({
  sender: requireViewer(request).account,
})

const MAX_URL_LENGTH = 2048

/** Applies a request to the current settings of a webhook, if there is one. Throws InvalidRequest with all invalid fields. */
function settingsFrom(
  { name, config = {}, events, active }: wire.WebhookChange,
  current: WebhookSettings | undefined,
  isAllowed: IsAddressAllowed,
): WebhookSettings {
  const { url = current?.url ?? '', content_type, secret, insecure_ssl = '0' } = config
  const subscribed = events ?? current?.events ?? ['migration']
  const errors: FieldError[] = []
  const reject = (field: string, message: string) =>
    errors.push({ resource: 'Hook', field, code: 'custom', message })
  if (name !== undefined && name !== 'web') reject('name', 'The name of a webhook is always web.')
  const invalidUrl = urlError(url, isAllowed)
  if (invalidUrl !== undefined) reject('url', invalidUrl)
  if (String(insecure_ssl) !== '0') reject('insecure_ssl', 'Certificates are always verified.')
  if (secret?.includes('\0')) reject('secret', 'A secret cannot have a NUL in it.')
  if (subscribed.length === 0) reject('events', 'At least one event is needed.')
  for (const event of subscribed) {
    const isKnown = subscriptions.includes(event as Subscription)
    if (!isKnown) reject('events', `There is no event "${event}".`)
  }
  if (errors.length > 0) throw new InvalidRequest(errors)
  return {
    url,
    contentType: content_type ?? current?.contentType ?? 'form',
    secret: secretFrom(secret, current),
    events: [...new Set(subscribed)] as Subscription[],
    isActive: active ?? current?.isActive ?? true,
  }
}

function secretFrom(secret: string | undefined, current: WebhookSettings | undefined) {
  if (secret === undefined || secret === HIDDEN) return current?.secret ?? null
  return secret === '' ? null : secret
}

/** Returns why a URL is invalid. Checks IP addresses, but not host names, which are resolved when an event is sent. */
function urlError(text: string, isAllowed: IsAddressAllowed): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return 'An http or https address is needed.'
  if (text.length > MAX_URL_LENGTH) return `An address has at most ${MAX_URL_LENGTH} characters.`
  if (url.username !== '' || url.password !== '')
    return 'An address cannot have a user name or password in it.'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) && !isAllowed(host))
    return 'This address is on a network that is not allowed; the operator can allow it with --webhook-networks.'
  return undefined
}

/** The request that webhooks receive, for the `webhooks` section of the OpenAPI description. */
export const migrationEvent = {
  operationId: 'webhooks/migration',
  tags: ['Webhooks'],
  summary: 'A migration has ended',
  description:
    'Sent to webhooks, as JSON or as a form, with the headers that GitHub has for its events. Any 2xx response means that it was received.',
  security: [],
  requestBody: {
    required: true,
    content: { 'application/json': { schema: openapi.schemaRef('webhook-event') } },
  },
  responses: {
    204: { description: 'Received.' },
    '4XX': {
      description: 'Not received. The event is sent again later, as after any other response.',
    },
  },
}
