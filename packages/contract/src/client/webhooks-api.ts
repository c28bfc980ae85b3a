import { UsageError } from '@godwit/lib/user-error'
import type { WebhookChange, WebhookRequest } from '../schemas/types.ts'
import type { ApiCalls, Resource } from './api-calls.ts'
import {
  deliveryResponse,
  fullDeliveryResponse,
  type WebhookResponse,
  webhookResponse,
} from './responses.ts'

/** The webhooks of the caller or of an organization. GitHub has only those of organizations. */
export function webhooksApi(calls: ApiCalls) {
  const { server, paths } = calls
  const missing = (resource: string) =>
    `${calls.notFoundMessage(resource)}: \`godwit webhook list${calls.orgFlag}\` shows all webhooks`

  const webhooks: Resource = {
    path: paths.webhooks,
    missing:
      server.org === undefined
        ? `${server.url} has no webhooks of accounts: only Godwit servers have them`
        : `${server.url} has no organization ${server.org} of which you are an owner`,
  }
  const webhook = (id: number, subpath = ''): Resource => ({
    path: `${paths.webhook}${subpath}`,
    parameters: { hook_id: id },
    missing: missing(`webhook ${id}`),
  })
  const delivery = (id: number, deliveryId: number, subpath = ''): Resource => ({
    path: `${paths.delivery}${subpath}`,
    parameters: { hook_id: id, delivery_id: deliveryId },
    missing: missing(`delivery ${deliveryId} of webhook ${id}`),
  })
  const show = (id: number) => calls.call('GET', webhook(id), webhookResponse)

  return {
    list: () => calls.listAll(webhooks, webhookResponse),
    add: (body: WebhookRequest) =>
      calls.call('POST', webhooks, webhookResponse, { name: 'web', ...body }),
    show,
    /**
     * Changes only the given fields. GitHub removes the secret when a change of other fields comes without it, so a change
     * of the configuration alone is sent to the separate `/config` route.
     */
    async edit(id: number, { config, ...change }: WebhookChange): Promise<WebhookResponse> {
      if (Object.keys(change).length === 0) {
        // Octokit would use a top-level `url` parameter as the address of the request.
        await calls.request('PATCH', webhook(id, '/config'), { data: config })
        return show(id)
      }
      const current = await show(id)
      if (losesSecret(current) && config?.secret === undefined)
        throw new UsageError(
          `${server.url} would remove the secret of webhook ${id} with this change: give the secret with --secret-file, or --no-secret to remove it`,
        )
      const merged = config && { config: { ...current.config, ...config } }
      return calls.call('PATCH', webhook(id), webhookResponse, { ...change, ...merged })
    },
    remove: (id: number) => calls.request('DELETE', webhook(id)),
    ping: (id: number) => calls.request('POST', webhook(id, '/pings')),
    deliveries: (id: number) => calls.listAll(webhook(id, '/deliveries'), deliveryResponse),
    delivery: (id: number, deliveryId: number) =>
      calls.call('GET', delivery(id, deliveryId), fullDeliveryResponse),
    redeliver: (id: number, deliveryId: number) =>
      calls.request('POST', delivery(id, deliveryId, '/attempts')),
  }
}

/** Only Godwit servers send `disabled_reason`, and only they keep a secret that a change leaves out. */
const losesSecret = ({ config, disabled_reason }: WebhookResponse): boolean =>
  config.secret !== undefined && disabled_reason === undefined
