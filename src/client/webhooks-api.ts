import type { WebhookChange, WebhookRequest } from '../wire/types.ts'
import type { ApiCalls, ErrorContext } from './api-calls.ts'
import { SecretNeeded } from './errors.ts'
import type { ApiPaths } from './paths.ts'
import {
  type DeliveryResponse,
  deliveryResponse,
  type FullDeliveryResponse,
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

  list(): Promise<WebhookResponse[]> {
    return this.#calls.all(`GET ${this.#paths.webhooks}`, {}, this.#listContext(), webhookResponse)
  }

  add(body: WebhookRequest): Promise<WebhookResponse> {
    const parameters = { name: 'web', ...body }
    return this.#calls.one(
      `POST ${this.#paths.webhooks}`,
      parameters,
      this.#listContext(),
      webhookResponse,
    )
  }

  show(id: number): Promise<WebhookResponse> {
    return this.#calls.one(
      `GET ${this.#paths.webhook}`,
      { hook_id: id },
      this.#context(id),
      webhookResponse,
    )
  }

  /**
   * Changes only the given fields. GitHub removes the secret when a change of other fields comes without it, so a change
   * of the configuration alone is sent to the separate `/config` route.
   */
  async edit(id: number, { config, ...change }: WebhookChange): Promise<WebhookResponse> {
    if (Object.keys(change).length === 0) {
      // Octokit would use a top-level `url` parameter as the address of the request.
      const parameters = { hook_id: id, data: config }
      await this.#calls.request(
        `PATCH ${this.#paths.webhook}/config`,
        parameters,
        this.#context(id),
      )
      return this.show(id)
    }
    const current = await this.show(id)
    if (losesSecret(current) && config?.secret === undefined)
      throw new SecretNeeded(
        `${this.#server.url} removes the secret of webhook ${id} with this change: give the secret with --secret-file, or --no-secret`,
      )
    const mergedConfig = config && { config: { ...current.config, ...config } }
    const parameters = { hook_id: id, ...change, ...mergedConfig }
    return this.#calls.one(
      `PATCH ${this.#paths.webhook}`,
      parameters,
      this.#context(id),
      webhookResponse,
    )
  }

  async remove(id: number): Promise<void> {
    await this.#calls.request(`DELETE ${this.#paths.webhook}`, { hook_id: id }, this.#context(id))
  }

  async ping(id: number): Promise<void> {
    await this.#calls.request(
      `POST ${this.#paths.webhook}/pings`,
      { hook_id: id },
      this.#context(id),
    )
  }

  deliveries(id: number): Promise<DeliveryResponse[]> {
    const route = `GET ${this.#paths.webhook}/deliveries`
    return this.#calls.all(route, { hook_id: id }, this.#context(id), deliveryResponse)
  }

  delivery(id: number, delivery: number): Promise<FullDeliveryResponse> {
    const parameters = { hook_id: id, delivery_id: delivery }
    const route = `GET ${this.#paths.delivery}`
    return this.#calls.one(route, parameters, this.#context(id, delivery), fullDeliveryResponse)
  }

  async redeliver(id: number, delivery: number): Promise<void> {
    const parameters = { hook_id: id, delivery_id: delivery }
    const route = `POST ${this.#paths.delivery}/attempts`
    await this.#calls.request(route, parameters, this.#context(id, delivery))
  }

  #listContext = (): ErrorContext => {
    const { org, url } = this.#server
    return {
      missing:
        org === undefined
          ? `${url} has no webhooks of accounts: only Godwit servers have them`
          : `${url} has no organization ${org} of which you are an owner`,
    }
  }

  #context = (id: number, delivery?: number): ErrorContext => {
    const { org, url } = this.#server
    const what = delivery === undefined ? `webhook ${id}` : `delivery ${delivery} of webhook ${id}`
    const flags = org === undefined ? '' : ` --org ${org}`
    return {
      missing: `${url} has no ${what} for ${org ?? 'this account'}: \`godwit webhook list${flags}\` shows all webhooks`,
    }
  }
}

/** Only Godwit servers send `disabled_reason`, and only they keep a secret that a change leaves out. */
const losesSecret = ({ config, disabled_reason }: WebhookResponse): boolean =>
  config.secret !== undefined && disabled_reason === undefined
