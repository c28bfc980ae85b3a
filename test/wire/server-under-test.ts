import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atProcessEnd } from '../support/process-end.ts'
import { PREVIEW } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'
import { makeRepositories } from './git-repositories.ts'
import { type Headers, type HttpResponse, send } from './http-request.ts'

/** A server given by its address, with a client. */
export interface ServerUnderTest {
  url: string
  token: string
  /** At least two repositories that the owner of the token may migrate. */
  repositories: string[]
  /** An organization of the token's owner with at least two repositories, or undefined. */
  organization: Organization | undefined
  /** Sends a request like most clients; a header that is undefined is not sent. */
  request(
    method: string,
    path: string,
    more?: { headers?: Headers; body?: unknown },
  ): Promise<HttpResponse>
}

interface Organization {
  login: string
  repositories: string[]
}

/** Repositories with and without a licence, a language and a template. */
const HOST = {
  'alice/garden': { 'godwit.templateRepository': 'alice/atlas', 'godwit.topic': 'birds' },
  'alice/atlas': { 'godwit.isTemplate': 'true', 'godwit.license': 'MIT', 'godwit.language': 'C' },
  'alice/letters': { 'gitweb.url': 'https://letters.example.com', 'godwit.private': 'false' },
  'octo/kit': { 'godwit.topic': 'tools' },
  'octo/engine': { 'godwit.private': 'false', 'godwit.license': 'MIT' },
  // An account for tests that count requests.
  'bob/notes': {},
  'carol/notes': {},
}
const repositoriesOf = (owner: string) =>
  Object.keys(HOST).filter((name) => name.startsWith(`${owner}/`))

const givenUrl = process.env.GODWIT_WIRE_URL?.replace(/\/+$/, '')

/** Options for a test that needs its own flags, or a server without other clients. */
export const ownServer = { skip: givenUrl !== undefined && 'needs a server of its own' }

let shared: Promise<ServerUnderTest> | undefined

/** Returns the server at `GODWIT_WIRE_URL`, or one that all tests of a process share. */
export function serverUnderTest(): Promise<ServerUnderTest> {
  shared ??= givenUrl === undefined ? startShared() : givenServer(givenUrl)
  return shared
}

const startShared = async () =>
  // Tests that wait poll without a rate limit.
  (await startServer('--rate-limit', '1000000'))('alice')

/** Returns the server with the organization's repositories and paths. */
export async function organizationUnderTest(): Promise<ServerUnderTest & { org: string }> {
  const server = await serverUnderTest()
  const { login, repositories } = server.organization ?? assert.fail('there is no organization')
  return { ...server, repositories, org: login }
}

/** Skips a test if the server has no organization for it. */
export const needsOrganization = {
  skip:
    givenUrl !== undefined &&
    !process.env.GODWIT_WIRE_ORGANIZATION &&
    'GODWIT_WIRE_ORGANIZATION is not set',
}

/** Settings for tests marked with `ownServer`; tests with the same settings share a server. */
const SETTINGS = {
  unusual: [
    ...['--preview', 'optional', '--time-zone', 'Asia/Kolkata', '--webhook-networks', '127.0.0.1'],
    ...['--link-ttl', '2h', '--installed-version', '3.7.1'],
  ],
  strict: ['--preview', 'required', '--rate-limit', '2'],
}
type Settings = keyof typeof SETTINGS

const started = new Map<Settings, ReturnType<typeof startServer>>()

/** Returns a server with these settings, and an account that no other test uses. */
export async function serverWith(
  settings: Settings,
  login: 'alice' | 'bob' | 'carol' = 'alice',
): Promise<ServerUnderTest> {
  const server = started.get(settings) ?? startServer(...SETTINGS[settings])
  started.set(settings, server)
  return (await server)(login)
}

const atEnd = { after: (cleanup: unknown) => atProcessEnd(cleanup as () => unknown) }

/** Starts one server for all tests of a process. */
async function startServer(...flags: string[]) {
  const host = await makeRepositories(HOST)
  atEnd.after(host.remove)
  await writeFile(join(host.root, 'octo/godwit-members'), 'alice owner\n')
  const service = await startSharedService(atEnd, { repositories: host.root, flags })
  const organization = { login: 'octo', repositories: repositoriesOf('octo') }
  return async (login: string) =>
    createServer(service.url, await service.token(login), repositoriesOf(login), organization)
}

async function givenServer(url: string): Promise<ServerUnderTest> {
  const token = process.env.GODWIT_WIRE_TOKEN
  if (!token) throw new Error('GODWIT_WIRE_URL is set, GODWIT_WIRE_TOKEN is not')
  const server = createServer(url, token, [])
  const named =
    process.env.GODWIT_WIRE_REPOSITORIES?.split(',') ?? (await migratedRepositories(server))
  if (named.length < 2) throw new Error('name two repositories in GODWIT_WIRE_REPOSITORIES')
  const login = process.env.GODWIT_WIRE_ORGANIZATION
  const organization = login ? { login, repositories: await reposOf(server, login) } : undefined
  return { ...server, repositories: named, organization }
}

async function reposOf({ request }: ServerUnderTest, login: string): Promise<string[]> {
  const { body } = await request('GET', `/orgs/${login}/repos?per_page=3`)
  return (JSON.parse(body) as { full_name: string }[]).map(({ full_name }) => full_name)
}

/** Returns repositories that a first migration has exported. */
async function migratedRepositories({ request }: ServerUnderTest): Promise<string[]> {
  const { body } = await request('GET', '/user/migrations?per_page=100')
  const migrations = JSON.parse(body) as { repositories: { full_name: string }[] }[]
  const several = migrations.find(({ repositories }) => repositories.length > 1)
  return several?.repositories.slice(0, 3).map(({ full_name }) => full_name) ?? []
}

function createServer(
  url: string,
  token: string,
  repositories: string[],
  organization?: Organization,
): ServerUnderTest {
  const defaults = {
    accept: PREVIEW,
    authorization: `bearer ${token}`,
    'user-agent': 'godwit-wire-tests',
  }
  return {
    url,
    token,
    repositories,
    organization,
    request: (method, path, { headers, body } = {}) =>
      send(method, path.startsWith('http') ? path : `${url}${path}`, {
        headers: { ...defaults, ...headers },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      }),
  }
}
