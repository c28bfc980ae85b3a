import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

export interface Target {
  url: string
  /** The token of a site administrator with all scopes. */
  token: string
}

type Json = Record<string, unknown>

export interface SeededFile {
  name: string
  bytes: Buffer | string
}

interface Call {
  /** The account that sends the request: the administrator, or a user created here. */
  as?: string | undefined
  body?: Json
  file?: SeededFile
}

/** Writes to a forge through its API, with unique names. */
export class ForgeSeeder {
  readonly prefix = `gw${Date.now().toString(36)}${Math.floor(Math.random() * 1296).toString(36)}`
  readonly #target: Target
  readonly #passwords = new Map<string, string>()
  readonly #sessions = new Map<string, Promise<Map<string, string>>>()
  #paths: Promise<Record<string, Record<string, unknown>>> | undefined

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

  async addUser(name: string, more: Json = {}): Promise<string> {
    const username = `${this.prefix}-${name}`
    const password = `Aa1-${crypto.randomUUID()}`
    const email = `${username}@example.com`
    await this.call('POST', '/admin/users', {
      body: { username, email, password, must_change_password: false, send_notify: false, ...more },
    })
    this.#passwords.set(username, password)
    return username
  }

  /** Creates an access token of a user who was created here. */
  async createToken(login: string, scopes: readonly string[]): Promise<string> {
    const body = { name: crypto.randomUUID(), scopes }
    const path = `/users/${login}/tokens`
    return (await this.call<{ sha1: string }>('POST', path, { as: login, body })).sha1
  }

  /** Returns whether the server's own description has the request, for example `PUT /repos/{owner}/{repo}/topics`. */
  async knows(request: string): Promise<boolean> {
    this.#paths ??= fetch(`${this.#target.url}/swagger.v1.json`).then(
      async (response) => ((await response.json()) as { paths: Record<string, Json> }).paths,
    )
    const [method = '', path = ''] = request.split(' ')
    return method.toLowerCase() in ((await this.#paths)[path] ?? {})
  }

  /** Submits a form of the web pages as a signed-in user: some versions offer an action only there. */
  async submit(
    login: string,
    path: string,
    fields: Record<string, string | string[] | SeededFile>,
  ): Promise<string> {
    const session = this.#sessions.get(login) ?? this.#signIn(login)
    this.#sessions.set(login, session)
    const cookies = await session
    const form = new FormData()
    for (const [name, value] of Object.entries(fields))
      for (const each of [value].flat())
        if (typeof each === 'string') form.append(name, each)
        else form.append(name, new File([each.bytes as Uint8Array<ArrayBuffer>], each.name))
    const response = await this.#post(path, cookies, form)
    const text = await response.text()
    const isSignIn = response.headers.get('location')?.includes('/user/login')
    if (response.status > 303 || isSignIn)
      throw new Error(`${path} as ${login}: ${response.status} ${text.slice(0, 300)}`)
    return text
  }

  async #signIn(login: string): Promise<Map<string, string>> {
    const cookies = new Map<string, string>()
    keepCookies(cookies, await fetch(`${this.#target.url}/user/login`))
    const form = new URLSearchParams({
      _csrf: decodeURIComponent(cookies.get('_csrf') ?? ''),
      user_name: login,
      password: this.#passwords.get(login) ?? '',
    })
    const response = await this.#post('/user/login', cookies, form)
    if (response.status > 303 || response.status < 300)
      throw new Error(`${login} cannot sign in: ${response.status}`)
    // The token against forged requests belongs to the new session.
    const headers = { cookie: cookieHeader(cookies) }
    keepCookies(cookies, await fetch(`${this.#target.url}/user/settings`, { headers }))
    return cookies
  }

  async #post(path: string, cookies: Map<string, string>, body: FormData | URLSearchParams) {
    const headers = {
      cookie: cookieHeader(cookies),
      'x-csrf-token': decodeURIComponent(cookies.get('_csrf') ?? ''),
    }
    const request = { method: 'POST', headers, body, redirect: 'manual' } as const
    const response = await fetch(`${this.#target.url}${path}`, request)
    keepCookies(cookies, response)
    return response
  }

  /**
   * Attaches files to an issue, a pull request or a comment. `text` returns its new text from the addresses of the
   * files, so that it can link to some of them.
   */
  async attach(
    repository: string,
    to: { issue: number } | { comment: number },
    files: readonly SeededFile[],
    { as, text }: { as: string; text: (addresses: string[]) => string },
  ): Promise<void> {
    const path = 'issue' in to ? `issues/${to.issue}` : `issues/comments/${to.comment}`
    if (await this.knows('POST /repos/{owner}/{repo}/issues/{index}/assets')) {
      const addresses: string[] = []
      for (const file of files) {
        const assets = `/repos/${repository}/${path}/assets?name=${encodeURIComponent(file.name)}`
        const { uuid } = await this.call<{ uuid: string }>('POST', assets, { as, file })
        addresses.push(`/attachments/${uuid}`)
      }
      await this.call('PATCH', `/repos/${repository}/${path}`, {
        as,
        body: { body: text(addresses) },
      })
      return
    }
    const uuids: string[] = []
    for (const file of files) {
      const body = await this.submit(as, `/${repository}/issues/attachments`, { file })
      uuids.push((JSON.parse(body) as { uuid: string }).uuid)
    }
    const content = text(uuids.map((uuid) => `/attachments/${uuid}`))
    const page = 'issue' in to ? `issues/${to.issue}/content` : `comments/${to.comment}`
    await this.submit(as, `/${repository}/${page}`, { content, 'files[]': uuids })
  }

  /** Commits files on a branch and pushes it. Also for wikis: `owner/name.wiki`. */
  async push(
    repository: string,
    files: Readonly<Record<string, string>>,
    { as, branch }: { as: string; branch: string },
  ): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), 'godwit-seed-'))
    const env = {
      ...{ PATH: process.env.PATH, HOME: folder, GIT_TERMINAL_PROMPT: '0' },
      ...{ GIT_CONFIG_NOSYSTEM: '1', GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'http.extraHeader' },
      GIT_CONFIG_VALUE_0: `Authorization: ${this.#credentials(as)}`,
      ...Object.fromEntries(
        ['AUTHOR', 'COMMITTER'].flatMap((role) => [
          [`GIT_${role}_NAME`, as],
          [`GIT_${role}_EMAIL`, `${as}@example.com`],
        ]),
      ),
    }
    const git = (...args: string[]) => promisify(execFile)('git', args, { cwd: folder, env })
    const address = `${this.#target.url}/${repository}.git`
    try {
      await git('init', '--quiet', `--initial-branch=${branch}`)
      await git('fetch', '--quiet', address, branch)
      await git('reset', '--quiet', '--hard', 'FETCH_HEAD')
      for (const [name, text] of Object.entries(files)) {
        await mkdir(dirname(join(folder, name)), { recursive: true })
        await writeFile(join(folder, name), text)
      }
      await git('add', '--all')
      await git('commit', '--quiet', '--message', `Add ${Object.keys(files).join(', ')}`)
      await git('push', '--quiet', address, `HEAD:refs/heads/${branch}`)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Uploads an LFS object and returns its pointer. Returns undefined if the server has no LFS. */
  async uploadLfs(repository: string, bytes: Buffer, as: string): Promise<string | undefined> {
    const oid = createHash('sha256').update(bytes).digest('hex')
    const size = bytes.length
    const type = 'application/vnd.git-lfs+json'
    const headers = {
      authorization: this.#credentials(as),
      accept: type,
      'content-type': type,
    }
    const address = `${this.#target.url}/${repository}.git/info/lfs/objects/batch`
    const batch = { operation: 'upload', transfers: ['basic'], objects: [{ oid, size }] }
    const given = await fetch(address, { method: 'POST', headers, body: JSON.stringify(batch) })
    if (given.status === 404) return undefined
    type Action = { href: string; header?: Record<string, string> }
    const { objects } = (await given.json()) as { objects: { actions?: { upload?: Action } }[] }
    const upload = objects[0]?.actions?.upload
    if (upload) {
      const own = new Headers({ authorization: headers.authorization })
      for (const [name, value] of Object.entries(upload.header ?? {})) own.set(name, value)
      const body = new Uint8Array(bytes)
      const put = await fetch(upload.href, { method: 'PUT', headers: own, body })
      if (!put.ok) throw new Error(`LFS upload: ${put.status} ${await put.text()}`)
    }
    return `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`
  }

  async #send(method: string, path: string, { as, body, file }: Call) {
    const headers: Record<string, string> = { authorization: this.#credentials(as) }
    let content: FormData | string | null = null
    if (file) {
      const form = new FormData()
      form.set('attachment', new File([file.bytes as Uint8Array<ArrayBuffer>], file.name))
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

function keepCookies(cookies: Map<string, string>, response: Response): void {
  for (const line of response.headers.getSetCookie()) {
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? []
    if (name && value) cookies.set(name, value)
    else if (name) cookies.delete(name)
  }
}

const cookieHeader = (cookies: Map<string, string>) =>
  [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
