import { setTimeout as sleep } from 'node:timers/promises'

export interface Target {
  url: string
  /** The token of a site administrator with all scopes. */
  token: string
}

type Json = Record<string, unknown>

interface Call {
  /** The account that sends the request: the administrator, or a user created here. */
  as?: string | undefined
  body?: Json
  file?: { name: string; text: string }
}

/** Writes to a forge through its API, with unique names. */
export class ForgeSeeder {
  readonly prefix = `gw${Date.now().toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`
  readonly #target: Target
  readonly #passwords = new Map<string, string>()

  constructor(target: Target) {
    this.#target = target
  }

  /** Returns the body of a 2xx response; throws with request and response otherwise. */
  async call<T = Json>(method: string, path: string, call: Call = {}): Promise<T> {
    const { status, body, text } = await this.#send(method, path, call)
    if (status < 200 || status > 299)
      throw new Error(
        `${method} ${path} as ${call.as ?? 'administrator'}: ${status} ${text.slice(0, 300)}`,
      )
    return body as T
  }

  /** Like `call` for what some versions do not have: returns undefined if the route is unknown. */
  async callIfKnown<T = Json>(
    method: string,
    path: string,
    call: Call = {},
  ): Promise<T | undefined> {
    const response = await this.#send(method, path, call)
    if (response.status === 404 || response.status === 405) return undefined
    if (response.status >= 200 && response.status <= 299) return (response.body ?? {}) as T
    throw new Error(`${method} ${path}: ${response.status} ${response.text.slice(0, 300)}`)
  }

  /** Retries until it succeeds: a forge processes a new pull request in the background. */
  async callUntilDone(method: string, path: string, call: Call): Promise<void> {
    for (let tries = 0; ; tries++) {
      const { status, text } = await this.#send(method, path, call)
      if (status >= 200 && status <= 299) return
      if (tries > 60)
        throw new Error(
          `${method} ${path} still fails after a minute: ${status} ${text.slice(0, 300)}`,
        )
      await sleep(1000)
    }
  }

  async addUser(name: string): Promise<string> {
    const username = `${this.prefix}-${name}`
    const password = `Aa1-${crypto.randomUUID()}`
    const email = `${username}@example.com`
    await this.call('POST', '/admin/users', {
      body: { username, email, password, must_change_password: false, send_notify: false },
    })
    this.#passwords.set(username, password)
    return username
  }

  async #send(method: string, path: string, { as, body, file }: Call) {
    const headers: Record<string, string> = { authorization: this.#credentials(as) }
    let content: FormData | string | null = null
    if (file) {
      const form = new FormData()
      form.set('attachment', new File([file.text], file.name, { type: 'text/plain' }))
      content = form
    } else if (body) {
      headers['content-type'] = 'application/json'
      content = JSON.stringify(body)
    }
    const address = `${this.#target.url}/api/v1${path}`
    // A busy server sometimes fails; requests that create something are not retried.
    for (let tries = method === 'POST' ? 3 : 1; ; tries++) {
      const response = await fetch(address, { method, headers, body: content })
      const text = await response.text()
      if (response.status < 500 || tries >= 3)
        return { status: response.status, text, body: parseJson(text) }
      await sleep(500)
    }
  }

  #credentials(login: string | undefined): string {
    if (!login) return `token ${this.#target.token}`
    return `Basic ${Buffer.from(`${login}:${this.#passwords.get(login)}`).toString('base64')}`
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
