import type { WebhookChange, WebhookRequest } from '../wire/types.ts'
import type { ApiCalls, ErrorContext } from './api-calls.ts'
import { SecretNeeded } from './errors.ts'
import {
  type DeliveryResponse,
  deliveryResponse,
  type FullDeliveryResponse,
  fullDeliveryResponse,
  type WebhookResponse,
  webhookResponse,
} from './responses.ts'
import type { Server } from './server.ts'

/** The webhooks of the caller, or of an organization. GitHub has those of organizations. */
export class WebhooksApi {
  readonly #server: Server
  readonly #calls: ApiCalls
  readonly #all: string
  readonly #one: string

  constructor(server: Server, calls: ApiCalls) {
    const { org } = server
    this.#server = server
    this.#calls = calls
    this.#all = org === undefined ? '/user/hooks' : `/orgs/${org}/hooks`
    this.#one = `${this.#all}/{hook_id}`
  }

  list(): Promise<WebhookResponse[]> {
    return this.#calls.all(`GET ${this.#all}`, {}, this.#ofApi(), webhookResponse)
  }

  add(body: WebhookRequest): Promise<WebhookResponse> {
    const asked = { name: 'web', ...body }
    return this.#calls.one(`POST ${this.#all}`, asked, this.#ofApi(), webhookResponse)
  }

  show(id: number): Promise<WebhookResponse> {
    return this.#calls.one(`GET ${this.#one}`, { hook_id: id }, this.#of(id), webhookResponse)
  }

  /** What is not said stays as it is. GitHub forgets a secret that does not come along, unless only the config is changed. */
  async edit(id: number, { config, ...change }: WebhookChange): Promise<WebhookResponse> {
    if (Object.keys(change).length === 0) {
      // Beside `data`, Octokit would take a `url` for where to ask.
      const asked = { hook_id: id, data: config }
      await this.#calls.request(`PATCH ${this.#one}/config`, asked, this.#of(id))
      return this.show(id)
    }
    const known = await this.show(id)
    if (losesSecret(known) && config?.secret === undefined)
      throw new SecretNeeded(
        `${this.#server.url} removes the secret of webhook ${id} with this change: give the secret with --secret-file, or --no-secret`,
      )
    const whole = config && { config: { ...known.config, ...config } }
    const asked = { hook_id: id, ...change, ...whole }
    return this.#calls.one(`PATCH ${this.#one}`, asked, this.#of(id), webhookResponse)
  }

  async remove(id: number): Promise<void> {
    await this.#calls.request(`DELETE ${this.#one}`, { hook_id: id }, this.#of(id))
  }

  async ping(id: number): Promise<void> {
    await this.#calls.request(`POST ${this.#one}/pings`, { hook_id: id }, this.#of(id))
  }

  deliveries(id: number): Promise<DeliveryResponse[]> {
    const route = `GET ${this.#one}/deliveries`
    return this.#calls.all(route, { hook_id: id }, this.#of(id), deliveryResponse)
  }

  delivery(id: number, delivery: number): Promise<FullDeliveryResponse> {
    const asked = { hook_id: id, delivery_id: delivery }
    const route = `GET ${this.#one}/deliveries/{delivery_id}`
    return this.#calls.one(route, asked, this.#of(id, delivery), fullDeliveryResponse)
  }

  async redeliver(id: number, delivery: number): Promise<void> {
    const asked = { hook_id: id, delivery_id: delivery }
    const route = `POST ${this.#one}/deliveries/{delivery_id}/attempts`
    await this.#calls.request(route, asked, this.#of(id, delivery))
  }

  #ofApi = (): ErrorContext => {
    const { org, url } = this.#server
    return {
      missing:
        org === undefined
          ? `${url} has no webhooks of accounts: only Godwit servers have them`
          : `${url} has no organization ${org} of which you are an owner`,
    }
  }

  #of = (id: number, delivery?: number): ErrorContext => {
    const { org, url } = this.#server
    const what = delivery === undefined ? `webhook ${id}` : `delivery ${delivery} of webhook ${id}`
    const flags = org === undefined ? '' : ` --org ${org}`
    return {
      missing: `${url} has no ${what} for ${org ?? 'this account'}: \`godwit webhook list${flags}\` shows all webhooks`,
    }
  }
}

/** Only Godwit says why a webhook is inactive, and only Godwit keeps a secret by itself. */
const losesSecret = ({ config, disabled_reason }: WebhookResponse): boolean =>
  config.secret !== undefined && disabled_reason === undefined
