import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { lastLines, showOnFailure } from '../show-on-failure.ts'
import { describeApi, isKnownRequest } from './api-description.ts'
import { type Asset, ForgeData, fullNameOf, type Repository, type User } from './forge-data.ts'
import { ForgeGit } from './forge-git.ts'
import { handleLfs } from './lfs-routes.ts'
import { handlePage, readForm } from './page-routes.ts'
import { refusalOf, type Scopes } from './permissions.ts'
import { READ_ROUTES, REPOSITORY_READ_ROUTES } from './reading-routes.ts'
import { type Dialect, GITEA_1_22, Renderer } from './render.ts'
import type { RouteContext } from './responses.ts'
import { type ForgeResponse, MAX_PAGE_SIZE, NOT_FOUND, PROXY_NOT_FOUND } from './responses.ts'
import { restoreDump } from './restore-dump.ts'
import { WRITE_ROUTES } from './writing-routes.ts'

/** A fault that replaces or changes a response. */
export type Fault =
  | { response: ForgeResponse; without?: readonly string[] }
  /** Sends half of the body, then closes the connection. */
  | { cut: true }
  | { hang: true }
  /** Sends the body byte by byte, without end. */
  | { drip: true }
  | { without: readonly string[] }
  /** Changes the regular response. */
  | { change: (regular: ForgeResponse) => ForgeResponse; without?: readonly string[] }

export interface Request {
  path: string
  query: URLSearchParams
  headers: IncomingMessage['headers']
  /** The number of requests that were recorded before this one. */
  count: number
}

export interface FakeForge {
  url: string
  world: ForgeData
  requests: Request[]
  /** Whether requests are recorded; tests of memory turn this off. */
  recordsRequests: boolean
  /** Users by token; `admin-token` exists from the start. */
  tokens: Map<string, User>
  /** The permissions of tokens that do not have all. */
  scopes: Map<string, Scopes>
  dialect: Dialect
  /** The maximum page size, a setting of a forge's operator. */
  maxPageSize: number
  /** Whether /api/v1/version requires a token too. All other requests always require one. */
  requiresSignIn: boolean
  faultFor: (request: Request) => Fault | undefined
  stop(): Promise<void>
}

interface StartOptions {
  dialect?: Dialect
  path?: string
  maxPageSize?: number
  /** An empty directory, for a forge with git: it gets `repositories` and `lfs`, as Gitea has them. */
  directory?: string
}

/** Starts an HTTP server that answers like Gitea, from data in memory. */
export async function startForge({
  dialect = GITEA_1_22,
  path = '',
  maxPageSize = MAX_PAGE_SIZE,
  directory,
}: StartOptions = {}): Promise<FakeForge> {
  const world = new ForgeData()
  if (directory) world.git = new ForgeGit(join(directory, 'repositories'), join(directory, 'lfs'))
  const admin = world.addUser('root', { isAdmin: true })
  const log = requestLog()
  const server = createServer((request, response) => {
    log.add(request, response)
    void handleRequest(forge, path, request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const hideLog = showOnFailure(`the requests to the forge at port ${port}`, log.since)
  const forge: FakeForge = {
    url: `http://127.0.0.1:${port}${path}`,
    world,
    requests: [],
    recordsRequests: true,
    tokens: new Map([['admin-token', admin]]),
    scopes: new Map(),
    dialect,
    maxPageSize,
    requiresSignIn: false,
    faultFor: () => undefined,
    stop: () => stop(server).finally(hideLog),
  }
  return forge
}

const MAX_LOGGED = 100

/** Keeps the last requests and their status for the output of a test that fails. */
function requestLog() {
  const lines: { time: number; text: string }[] = []
  return {
    add(request: IncomingMessage, response: ServerResponse): void {
      const line = { time: Date.now(), text: `${request.method} ${request.url}` }
      lines.push(line)
      if (lines.length > MAX_LOGGED) lines.shift()
      response.once('close', () => {
        line.text += response.writableFinished ? ` ${response.statusCode}` : ' aborted'
      })
    },
    since: ({ startedAt }: { startedAt: number }): string =>
      lastLines(lines.filter(({ time }) => time >= startedAt).map(({ text }) => text)),
  }
}

function stop(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}

async function handleRequest(
  forge: FakeForge,
  base: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', forge.url)
  const path = url.pathname.slice(base.length)
  if (Number(url.searchParams.get('limit')) > forge.maxPageSize)
    url.searchParams.set('limit', String(forge.maxPageSize))
  const recorded = {
    path,
    query: url.searchParams,
    headers: request.headers,
    count: forge.requests.length,
  }
  if (forge.recordsRequests) forge.requests.push(recorded)
  forge.world.onRequest()
  const fault = forge.faultFor(recorded)
  if (fault && 'hang' in fault) return
  if (fault && 'drip' in fault) return drip(response)
  if (!fault && (await serveGit(forge, url, path, { request, response }))) return
  const regular =
    fault && 'response' in fault ? fault.response : await respond(forge, url, path, request)
  const changed = fault && 'change' in fault ? fault.change(regular) : regular
  response.setHeader('date', new Date(forge.world.clock() * 1000).toUTCString())
  send(response, changed, fault)
}

/** Serves clones and pushes, and reads the branches after a push. As in Gitea, a token must be sent as the password. */
async function serveGit(
  forge: FakeForge,
  url: URL,
  path: string,
  call: { request: IncomingMessage; response: ServerResponse },
): Promise<boolean> {
  const { git } = forge.world
  const pattern = /^\/([^/]+)\/([^/]+?)(\.wiki)?(?:\.git)?(\/(?:info\/refs|git-[a-z-]+))$/
  const [, owner = '', name = '', wiki = '', rest = ''] = pattern.exec(path) ?? []
  const repository = forge.world.findRepository(owner, name)
  if (!git || !rest || !repository) return false
  const isBasic = /^basic /i.test(call.request.headers.authorization ?? '')
  const user = isBasic ? authenticate(forge, call.request) : undefined
  const isPush = rest.endsWith('receive-pack') || url.search.endsWith('receive-pack')
  if (!user && (isPush || repository.isPrivate || forge.requiresSignIn)) {
    call.response.writeHead(401, { 'www-authenticate': 'Basic realm="."' }).end()
    return true
  }
  const file = `/${owner}/${name}${wiki}.git`.toLowerCase()
  await git.serve(file + rest, url.search.slice(1), user?.login ?? '', call)
  if (isPush) forge.world.readBranches(repository)
  return true
}

async function respond(
  forge: FakeForge,
  url: URL,
  path: string,
  request: IncomingMessage,
): Promise<ForgeResponse> {
  if (path === '/swagger.v1.json') return { body: describeApi(forge.dialect) }
  const page = await handlePage(forge.world, path, request)
  if (page) return page
  const user = authenticate(forge, request)
  const isAnonymous = request.headers.authorization === undefined && !forge.requiresSignIn
  if (isAnonymous && path === '/api/v1/version') return { body: { version: forge.dialect.version } }
  if (!user) return { status: 401, body: { message: 'token is required' } }
  if (user.isSuspended)
    return { status: 403, body: { message: 'This account is prohibited from signing in.' } }
  const sudo = url.searchParams.get('sudo')
  if (sudo && !user.isAdmin)
    return { status: 403, body: { message: 'Only administrators allowed to sudo.' } }
  const viewer = sudo ? forge.world.users.get(sudo.toLowerCase()) : user
  if (!viewer) return NOT_FOUND
  const uuid = /^\/attachments\/([0-9a-f-]+)$/.exec(path)?.[1]
  if (uuid) {
    const asset = forge.world.findAsset(uuid)
    return asset ? sendAsset(asset, forge.dialect) : { status: 404, body: { message: 'gone' } }
  }
  if (path === '/api/internal/restore_repo' && user.isAdmin) return restore(forge, request)
  const lfs = await handleLfs(forge, path, request, user)
  if (lfs) return lfs
  if (!path.startsWith('/api/v1/')) return NOT_FOUND
  const render = new Renderer(forge.url, forge.dialect, forge.world.repositories)
  const { world, dialect, maxPageSize } = forge
  const scopes = forge.scopes.get(tokenIn(request)) ?? ['all']
  const context = { url, world, render, dialect, maxPageSize, viewer, scopes }
  const rest = path.slice('/api/v1'.length)
  if (!isKnownRequest(dialect, request.method ?? '', rest)) return PROXY_NOT_FOUND
  const owner = /^\/users\/([^/]+)\/tokens$/.exec(rest)?.[1]
  if (request.method === 'POST' && owner) return createToken(forge, owner, request)
  if (request.method !== 'GET') return write(context, rest, request)
  const refusal = refusalOf({ ...context, path: rest })
  if (refusal) return refusal
  return read(context, rest) ?? redirectRenamed(world, path) ?? NOT_FOUND
}

const tokenIn = ({ headers }: IncomingMessage) => headers.authorization?.split(' ')[1] ?? ''

async function createToken(forge: FakeForge, login: string, request: IncomingMessage) {
  const user = forge.world.users.get(login.toLowerCase())
  if (!user) return NOT_FOUND
  const { scopes } = JSON.parse(Buffer.concat(await request.toArray()).toString())
  const sha1 = randomBytes(20).toString('hex')
  forge.tokens.set(sha1, user)
  forge.scopes.set(sha1, scopes)
  return { status: 201, body: { sha1 } }
}

async function restore({ world }: FakeForge, request: IncomingMessage): Promise<ForgeResponse> {
  const bytes = Buffer.concat(await request.toArray())
  const form = await readForm(bytes, request.headers['content-type'] ?? '')
  const [directory, owner, name] = ['directory', 'owner', 'name'].map((key) => `${form.get(key)}`)
  const failure = restoreDump(world, { directory: directory!, owner: owner!, name: name! })
  return failure ? { status: 500, body: { err: failure } } : { body: 'success' }
}

/**
 * Gitea 1.15 sends no name for text files. Other names are sent as UTF-8. They are encoded twice here, because Node decodes this
 * header once if the response has a `content-length`.
 */
const sendAsset = ({ bytes, name }: Asset, { isNew }: Dialect): ForgeResponse => {
  const kind = /\.(?:png|jpe?g|gif)$/i.test(name) ? 'inline' : 'attachment'
  const isText = !isNew && name.endsWith('.txt')
  const bytesOf = (text: string) => Buffer.from(text).toString('latin1')
  const disposition = bytesOf(bytesOf(`${kind}; filename="${name}"`))
  return { bytes, headers: isText ? {} : { 'content-disposition': disposition } }
}

/** Redirects to the new login of a renamed owner, or the new name of a repository. */
function redirectRenamed(world: ForgeData, path: string): ForgeResponse | undefined {
  const [, api, name = '', rest] = /^(.*\/repos\/)([^/]+\/[^/]+)(.*)$/.exec(path) ?? []
  const repository = world.renamed.get(name.toLowerCase())
  if (repository)
    return {
      status: 302,
      headers: { location: `${api}${fullNameOf(repository)}${rest}` },
      bytes: Buffer.from('Found'),
    }
  const [, start, login = ''] = /^(.*\/(?:orgs|users|repos)\/)([^/]+)/.exec(path) ?? []
  const user = world.redirects.get(login.toLowerCase())
  if (!start || !user) return undefined
  const location = start + user.login + path.slice(start.length + login.length)
  return { status: 302, headers: { location }, bytes: Buffer.from('Found') }
}

function read(context: RouteContext, path: string): ForgeResponse | undefined {
  for (const [pattern, route] of READ_ROUTES) {
    const match = pattern.exec(path)
    if (match) return route(context, ...match.slice(1).map(decodeURIComponent))
  }
  const repository = /^\/repos\/([^/]+)\/([^/]+)(.*)$/.exec(path)
  if (!repository) return undefined
  const [owner, name, rest] = repository.slice(1).map(decodeURIComponent)
  const found = context.world.findRepository(owner ?? '', name ?? '')
  if (!found || isHidden(found, rest ?? '')) return undefined
  for (const [pattern, route] of REPOSITORY_READ_ROUTES) {
    const match = pattern.exec(rest ?? '')
    if (match) return route(context, found, ...match.slice(1))
  }
  return undefined
}

/** Returns whether a disabled feature hides the path. Labels, milestones and releases stay visible. */
function isHidden({ disabled }: Repository, path: string): boolean {
  if (path.startsWith('/issues')) return disabled.has('issues') && disabled.has('pulls')
  return path.startsWith('/pulls') && disabled.has('pulls')
}

async function write(
  context: RouteContext,
  path: string,
  request: IncomingMessage,
): Promise<ForgeResponse> {
  const bytes = Buffer.concat(await request.toArray())
  const type = request.headers['content-type'] ?? ''
  const isJson = type.startsWith('application/json')
  const body = isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : {}
  const form = await readForm(bytes, type)
  const archived = refuseArchived(context, path, request.method ?? '')
  if (archived) return archived
  for (const [method, pattern, route] of WRITE_ROUTES) {
    const match = method === request.method ? pattern.exec(path) : null
    if (match) {
      const names = match.slice(1).map(decodeURIComponent)
      return (await route({ ...context, body, form }, ...names)) ?? NOT_FOUND
    }
  }
  return NOT_FOUND
}

/** An archived repository accepts no new issues, comments, files and commits; its settings can be edited. */
function refuseArchived(
  { world, dialect }: RouteContext,
  path: string,
  method: string,
): ForgeResponse | undefined {
  const [, owner = '', name = '', rest = ''] = /^\/repos\/([^/]+)\/([^/]+)(\/.+)$/.exec(path) ?? []
  const isRefused =
    (method === 'POST' && /^\/(?:issues|pulls|releases|contents|wiki)\b/.test(rest)) ||
    /^\/issues\/comments\/\d+$/.test(rest)
  if (!isRefused || !world.findRepository(owner, name)?.isArchived) return undefined
  return dialect.isNew ? { status: 423, body: { message: 'repo is archived' } } : NOT_FOUND
}

function authenticate(
  { tokens, world }: FakeForge,
  { headers }: IncomingMessage,
): User | undefined {
  const [kind, secret = ''] = (headers.authorization ?? '').split(' ')
  if (kind?.toLowerCase() === 'token' || kind?.toLowerCase() === 'bearer') return tokens.get(secret)
  if (kind?.toLowerCase() !== 'basic') return undefined
  // A token can be sent as the password or as the user name.
  const [login = '', password = ''] = Buffer.from(secret, 'base64').toString().split(':')
  return tokens.get(password) ?? tokens.get(login) ?? world.users.get(login.toLowerCase())
}

function drip(response: ServerResponse): void {
  const timer = setInterval(() => response.write(' '), 10)
  response.on('close', () => clearInterval(timer))
}

function send(response: ServerResponse, content: ForgeResponse, fault: Fault | undefined): void {
  const { status = 200, headers = {}, bytes } = content
  const body = bytes ?? Buffer.from(content.body === undefined ? '' : JSON.stringify(content.body))
  const type = bytes ? 'application/octet-stream' : 'application/json;charset=utf-8'
  const all: Record<string, string> = {
    'content-type': type,
    'content-length': String(body.length),
    ...headers,
  }
  if (fault && 'without' in fault) for (const name of fault.without ?? []) delete all[name]
  response.writeHead(status, all)
  if (!fault || !('cut' in fault)) {
    response.end(body)
    return
  }
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy())
}
