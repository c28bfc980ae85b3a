import type { WebhookChange, WebhookRequest } from '../wire/types.ts'
import type { ApiCalls, Resource } from './api-calls.ts'
import { SecretNeeded } from './errors.ts'
import type { ApiPaths } from './paths.ts'
import {
  deliveryResponse,
  fullDeliveryResponse,
  type WebhookResponse,
  webhookResponse,
} from './responses.ts'
import type { Server } from './send-request.ts'

/** The webhooks of the caller or of an organization. GitHub has only those of organizations. */
export class WebhooksApi {
  readonly #server: Server
  readonly #calls: ApiCalls
  readonly #paths: ApiPaths

  constructor(server: Server, calls: ApiCalls, paths: ApiPaths) {
    this.#server = server
    this.#calls = calls
    this.#paths = paths
  }

  list() {
    return this.#calls.all(this.#all(), webhookResponse)
  }

  add(body: WebhookRequest) {
    return this.#calls.one('POST', this.#all(), webhookResponse, { name: 'web', ...body })
  }

  show(id: number) {
    return this.#calls.one('GET', this.#one(id), webhookResponse)
  }

  /**
   * Changes only the given fields. GitHub removes the secret when a change of other fields comes without it, so a change
   * of the configuration alone is sent to the separate `/config` route.
   */
  async edit(id: number, { config, ...change }: WebhookChange): Promise<WebhookResponse> {
    if (Object.keys(change).length === 0) {
      // Octokit would use a top-level `url` parameter as the address of the request.
      await this.#calls.request('PATCH', this.#one(id, '/config'), { data: config })
      return this.show(id)
    }
    const current = await this.show(id)
    if (losesSecret(current) && config?.secret === undefined)
      throw new SecretNeeded(
        `${this.#server.url} removes the secret of webhook ${id} with this change: give the secret with --secret-file, or --no-secret`,
      )
    const mergedConfig = config && { config: { ...current.config, ...config } }
    return this.#calls.one('PATCH', this.#one(id), webhookResponse, { ...change, ...mergedConfig })
  }

  async remove(id: number): Promise<void> {
    await this.#calls.request('DELETE', this.#one(id))
  }

  async ping(id: number): Promise<void> {
    await this.#calls.request('POST', this.#one(id, '/pings'))
  }

  deliveries(id: number) {
    return this.#calls.all(this.#one(id, '/deliveries'), deliveryResponse)
  }

  delivery(id: number, delivery: number) {
    return this.#calls.one('GET', this.#delivery(id, delivery), fullDeliveryResponse)
  }

  async redeliver(id: number, delivery: number): Promise<void> {
    await this.#calls.request('POST', this.#delivery(id, delivery, '/attempts'))
  }

  #all(): Resource {
    const { org, url } = this.#server
    return {
      path: this.#paths.webhooks,
      missing:
        org === undefined
          ? `${url} has no webhooks of accounts: only Godwit servers have them`
          : `${url} has no organization ${org} of which you are an owner`,
    }
  }

  #one(id: number, below = ''): Resource {
    return {
      path: `${this.#paths.webhook}${below}`,
      parameters: { hook_id: id },
      missing: this.#missing(`webhook ${id}`),
    }
  }

  #delivery(id: number, delivery: number, below = ''): Resource {
    return {
      path: `${this.#paths.delivery}${below}`,
      parameters: { hook_id: id, delivery_id: delivery },
      missing: this.#missing(`delivery ${delivery} of webhook ${id}`),
    }
  }

  #missing(what: string): string {
    const { org, url } = this.#server
    const flag = org === undefined ? '' : ` --org ${org}`
    return `${url} has no ${what} for ${org ?? 'this account'}: \`godwit webhook list${flag}\` shows all webhooks`
  }
}

/** Only Godwit servers send `disabled_reason`, and only they keep a secret that a change leaves out. */
const losesSecret = ({ config, disabled_reason }: WebhookResponse): boolean =>
  config.secret !== undefined && disabled_reason === undefined
