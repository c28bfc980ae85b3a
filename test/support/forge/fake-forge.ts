import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ForgeData, type Repository, type User } from './forge-data.ts'
import { READ_ROUTES, REPOSITORY_READ_ROUTES } from './reading-routes.ts'
import { type Dialect, GITEA_1_22, Renderer } from './render.ts'
import type { RouteContext } from './responses.ts'
import { type ForgeResponse, MAX_PAGE_SIZE, NOT_FOUND } from './responses.ts'
import { WRITE_ROUTES } from './seeding-routes.ts'

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
  dialect: Dialect
  /** The maximum page size, a setting of a forge's operator. */
  maxPageSize: number
  /** Whether /api/v1/version requires a token too. All other requests always require one. */
  requiresSignIn: boolean
  faultFor: (request: Request) => Fault | undefined
  stop(): Promise<void>
}

/** Starts an HTTP server that answers like Gitea, from data in memory. */
export async function startForge({
  dialect = GITEA_1_22,
  path = '',
  maxPageSize = MAX_PAGE_SIZE,
} = {}): Promise<FakeForge> {
  const world = new ForgeData()
  const admin = world.addUser('root', { isAdmin: true })
  const server = createServer(
    (request, response) => void handleRequest(forge, path, request, response),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const forge: FakeForge = {
    url: `http://127.0.0.1:${port}${path}`,
    world,
    requests: [],
    recordsRequests: true,
    tokens: new Map([['admin-token', admin]]),
    dialect,
    maxPageSize,
    requiresSignIn: false,
    faultFor: () => undefined,
    stop: () => stop(server),
  }
  return forge
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
  const regular =
    fault && 'response' in fault ? fault.response : await respond(forge, url, path, request)
  const changed = fault && 'change' in fault ? fault.change(regular) : regular
  response.setHeader('date', new Date(forge.world.clock() * 1000).toUTCString())
  send(response, changed, fault)
}

async function respond(
  forge: FakeForge,
  url: URL,
  path: string,
  request: IncomingMessage,
): Promise<ForgeResponse> {
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
    if (!asset) return { status: 404, body: { message: 'gone' } }
    // Gitea 1.15 sends no name for a text, and others as UTF-8. Node decodes this header once if the response has a length.
    const bytesOf = (text: string) => Buffer.from(text).toString('latin1')
    const name = bytesOf(bytesOf(asset.name))
    const isText = !forge.dialect.isNew && asset.name.endsWith('.txt')
    const headers = { 'content-disposition': `inline; filename="${name}"` }
    return { bytes: asset.bytes, ...(isText ? {} : { headers }) }
  }
  if (!path.startsWith('/api/v1/')) return NOT_FOUND
  const render = new Renderer(forge.url, forge.dialect)
  const { world, dialect, maxPageSize } = forge
  const context = { url, world, render, dialect, maxPageSize, viewer }
  const rest = path.slice('/api/v1'.length)
  if (request.method !== 'GET') return write(context, rest, request)
  return read(context, rest) ?? redirectRenamedOwner(world, path) ?? NOT_FOUND
}

/** Redirects to the new login of a renamed owner. */
function redirectRenamedOwner(world: ForgeData, path: string): ForgeResponse | undefined {
  const [, start, login = ''] = /^(.*\/(?:orgs|users|repos)\/)([^/]+)/.exec(path) ?? []
  const user = world.redirects.get(login.toLowerCase())
  if (!start || !user) return undefined
  const location = start + user.login + path.slice(start.length + login.length)
  return { status: 302, headers: { location }, body: {} }
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
  const isJson = request.headers['content-type']?.startsWith('application/json')
  const body = isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : {}
  for (const [method, pattern, route] of WRITE_ROUTES) {
    const match = method === request.method ? pattern.exec(path) : null
    if (match) {
      const names = match.slice(1).map(decodeURIComponent)
      return route({ ...context, body, bytes, headers: request.headers }, ...names) ?? NOT_FOUND
    }
  }
  return NOT_FOUND
}

function authenticate(
  { tokens, world }: FakeForge,
  { headers }: IncomingMessage,
): User | undefined {
  const [kind, secret = ''] = (headers.authorization ?? '').split(' ')
  if (kind?.toLowerCase() === 'token' || kind?.toLowerCase() === 'bearer') return tokens.get(secret)
  const [login = ''] = Buffer.from(secret, 'base64').toString().split(':')
  return kind?.toLowerCase() === 'basic' ? world.users.get(login.toLowerCase()) : undefined
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
