import { writeFile } from 'node:fs/promises'
import { PREVIEW } from '../support/service.ts'
import type { Client, Migration } from './migration-lifecycle.ts'
import { isInstalled, needs } from './needs.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import type { WalkedRepository } from './walked-repository.ts'

/** The tested versions, by their package names here. */
const PACKAGES = { 22: '@octokit/rest', 17: 'octokit-rest-17', 16: 'octokit-rest-16' } as const
export type OctokitVersion = keyof typeof PACKAGES

export const needsOctokit = (version: OctokitVersion) =>
  needs(`@octokit/rest ${version}`, isInstalled(PACKAGES[version]))

type Parameters = Readonly<Record<string, unknown>>
interface Method<T> {
  (parameters: Parameters): Promise<{ data: T }>
  endpoint: { merge(parameters: Parameters): Request<T> }
}
/** A prepared request with the type of its result. */
interface Request<T> {
  url: string
  given?: T
}
interface Named {
  full_name: string
}

/** The used methods of Octokit, which have kept their names since version 16, except one. */
interface Octokit {
  rest: Record<'migrations' | 'repos' | 'users' | 'licenses', Record<string, Method<unknown>>>
  migrations: Record<string, Method<unknown>>
  paginate: {
    iterator<T>(request: Request<T> | string, more?: Parameters): AsyncIterable<{ data: T }>
  }
}

async function createOctokit(
  version: OctokitVersion,
  { url, token }: Pick<ServerUnderTest, 'url' | 'token'>,
): Promise<Octokit> {
  const { Octokit } = await import(PACKAGES[version]).then((module) =>
    'Octokit' in module ? module : module.default,
  )
  const silentLog = { debug() {}, info() {}, warn() {}, error() {} }
  return new Octokit({ baseUrl: url, auth: token, log: silentLog })
}

/** Returns the full names of the caller's repositories, page by page. */
export async function octokitRepositories(
  version: OctokitVersion,
  server: ServerUnderTest,
  perPage: number,
): Promise<string[][]> {
  const { paginate } = await createOctokit(version, server)
  const pages = paginate.iterator<Named[]>('GET /user/repos', { per_page: perPage })
  return Array.fromAsync(pages, ({ data }) => data.map(({ full_name }) => full_name))
}

/** Follows the URLs from a migration to its repositories and everything below them, with Octokit's own methods. */
export async function octokitWalk(
  server: ServerUnderTest,
  id: number,
): Promise<WalkedRepository[]> {
  const { rest } = await createOctokit(22, server)
  const { data } = await rest.migrations.listReposForAuthenticatedUser!({
    migration_id: id,
    headers: { accept: PREVIEW },
  })
  return Promise.all((data as Named[]).map(({ full_name }) => walkRepository(rest, full_name)))
}

interface FullRepository extends Named {
  parent?: unknown
  owner: { login: string }
  license: { key: string } | null
}
type Ref = { name: string; commit: { sha: string } }
type Collaborator = { login: string; permissions: { admin: boolean } }

async function walkRepository(rest: Octokit['rest'], fullName: string): Promise<WalkedRepository> {
  const [owner, repo] = fullName.split('/')
  const { repos, users, licenses } = rest
  const of = async <T>(
    method: Method<unknown> | undefined,
    parameters: Parameters = { owner, repo },
  ): Promise<T> => (await method!(parameters)).data as T
  const refs = async (method: Method<unknown> | undefined) =>
    (await of<Ref[]>(method)).map(({ name, commit }): [string, string] => [name, commit.sha])

  const { license, parent, ...full } = await of<FullRepository>(repos.get)
  const person = await of<{ login: string; created_at?: string }>(users.getByUsername, {
    username: full.owner.login,
  })
  const collaborators = await of<Collaborator[]>(repos.listCollaborators)
  return {
    full_name: full.full_name,
    has_parent: parent !== undefined,
    owner: { login: person.login, has_age: Boolean(person.created_at) },
    license: license && (await of<{ body: string }>(licenses.get, { license: license.key })).body,
    license_file: license && atob((await of<{ content: string }>(licenses.getForRepo)).content),
    branches: await refs(repos.listBranches),
    tags: await refs(repos.listTags),
    topics: (await of<{ names: string[] }>(repos.getAllTopics)).names,
    languages: await of<Record<string, number>>(repos.listLanguages),
    collaborators: collaborators.map(({ login, permissions }) => [login, permissions.admin]),
  }
}

/** The method names of a version, for the caller's migrations and for an organization's. */
const CALLER_PATH = {
  start: ['startForAuthenticatedUser'],
  list: ['listForAuthenticatedUser'],
  status: ['getStatusForAuthenticatedUser'],
  repositories: ['listReposForAuthenticatedUser', 'listReposForUser'],
  archive: ['getArchiveForAuthenticatedUser'],
  unlock: ['unlockRepoForAuthenticatedUser'],
  deleteArchive: ['deleteArchiveForAuthenticatedUser'],
}
const ORGANIZATION_PATH: typeof CALLER_PATH = {
  start: ['startForOrg'],
  list: ['listForOrg'],
  status: ['getStatusForOrg'],
  repositories: ['listReposForOrg'],
  archive: ['downloadArchiveForOrg'],
  unlock: ['unlockRepoForOrg'],
  deleteArchive: ['deleteArchiveForOrg'],
}

export async function octokitClient(
  version: OctokitVersion,
  server: Pick<ServerUnderTest, 'url' | 'token'> & { org?: string },
  more: Parameters = {},
): Promise<Client> {
  const { migrations, paginate } = await createOctokit(version, server)
  const { org } = server
  const names = org === undefined ? CALLER_PATH : ORGANIZATION_PATH
  const common = org === undefined ? more : { ...more, org }
  const method = <T>(what: keyof typeof CALLER_PATH): Method<T> => {
    const name = names[what].find((each) => each in migrations)!
    return migrations[name] as Method<T>
  }

  return {
    async start(repositories, { lock }) {
      const parameters = { ...common, repositories, lock_repositories: lock }
      return (await method<Migration>('start')(parameters)).data
    },
    async *list(perPage) {
      const { endpoint } = method<Migration[]>('list')
      const request = endpoint.merge({ ...common, per_page: perPage })
      for await (const { data } of paginate.iterator(request)) yield data.map(({ id }) => id)
    },
    async status(id) {
      return (await method<Migration>('status')({ ...common, migration_id: id })).data
    },
    async *repositories(id, perPage) {
      const { endpoint } = method<Named[]>('repositories')
      const request = endpoint.merge({ ...common, migration_id: id, per_page: perPage })
      for await (const { data } of paginate.iterator(request)) {
        yield data.map(({ full_name }) => full_name)
      }
    },
    async download(id, file) {
      const parameters = { ...common, migration_id: id }
      const { data } = await method<ArrayBuffer>('archive')(parameters)
      await writeFile(file, Buffer.from(data))
    },
    async unlock(id, name) {
      await method('unlock')({ ...common, migration_id: id, repo_name: name })
    },
    async deleteArchive(id) {
      await method('deleteArchive')({ ...common, migration_id: id })
    },
  }
}
