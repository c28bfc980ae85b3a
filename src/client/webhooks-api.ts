import type { WebhookChange, WebhookRequest } from '../wire/types.ts'
import type { ApiCalls, Resource } from './api-calls.ts'
import { SecretNeeded } from './errors.ts'
import {
  deliveryResponse,
  fullDeliveryResponse,
  type WebhookResponse,
  webhookResponse,
} from './responses.ts'

/** The webhooks of the caller or of an organization. GitHub has only those of organizations. */
export class WebhooksApi {
  readonly #calls: ApiCalls

  constructor(calls: ApiCalls) {
    this.#calls = calls
  }

  list() {
    return this.#calls.listAll(this.#webhooks(), webhookResponse)
  }

  add(body: WebhookRequest) {
    return this.#calls.call('POST', this.#webhooks(), webhookResponse, { name: 'web', ...body })
  }

  show(id: number) {
    return this.#calls.call('GET', this.#webhook(id), webhookResponse)
  }

  /**
   * Changes only the given fields. GitHub removes the secret when a change of other fields comes without it, so a change
   * of the configuration alone is sent to the separate `/config` route.
   */
  async edit(id: number, { config, ...change }: WebhookChange): Promise<WebhookResponse> {
    if (Object.keys(change).length === 0) {
      // Octokit would use a top-level `url` parameter as the address of the request.
      await this.#calls.request('PATCH', this.#webhook(id, '/config'), { data: config })
      return this.show(id)
    }
    const current = await this.show(id)
    if (losesSecret(current) && config?.secret === undefined)
      throw new SecretNeeded(
        `${this.#calls.server.url} would remove the secret of webhook ${id} with this change: give the secret with --secret-file, or --no-secret to remove it`,
      )
    const mergedConfig = config && { config: { ...current.config, ...config } }
    return this.#calls.call('PATCH', this.#webhook(id), webhookResponse, {
      ...change,
      ...mergedConfig,
    })
  }

  async remove(id: number): Promise<void> {
    await this.#calls.request('DELETE', this.#webhook(id))
  }

  async ping(id: number): Promise<void> {
    await this.#calls.request('POST', this.#webhook(id, '/pings'))
  }

  deliveries(id: number) {
    return this.#calls.listAll(this.#webhook(id, '/deliveries'), deliveryResponse)
  }

  delivery(id: number, delivery: number) {
    return this.#calls.call('GET', this.#delivery(id, delivery), fullDeliveryResponse)
  }

  async redeliver(id: number, delivery: number): Promise<void> {
    await this.#calls.request('POST', this.#delivery(id, delivery, '/attempts'))
  }

  #webhooks(): Resource {
    const { org, url } = this.#calls.server
    return {
      path: this.#calls.paths.webhooks,
      missing:
        org === undefined
          ? `${url} has no webhooks of accounts: only Godwit servers have them`
          : `${url} has no organization ${org} of which you are an owner`,
    }
  }

  #webhook(id: number, subpath = ''): Resource {
    return {
      path: `${this.#calls.paths.webhook}${subpath}`,
      parameters: { hook_id: id },
      missing: this.#missing(`webhook ${id}`),
    }
  }

  #delivery(id: number, delivery: number, subpath = ''): Resource {
    return {
      path: `${this.#calls.paths.delivery}${subpath}`,
      parameters: { hook_id: id, delivery_id: delivery },
      missing: this.#missing(`delivery ${delivery} of webhook ${id}`),
    }
  }

  #missing(resource: string): string {
    const list = `godwit webhook list${this.#calls.orgFlag}`
    return `${this.#calls.notFoundMessage(resource)}: \`${list}\` shows all webhooks`
  }
}

/** Only Godwit servers send `disabled_reason`, and only they keep a secret that a change leaves out. */
const losesSecret = ({ config, disabled_reason }: WebhookResponse): boolean =>
  config.secret !== undefined && disabled_reason === undefined
