import { writeFile } from 'node:fs/promises'
import { isInstalled, needs } from './parts.ts'
import type { ServerUnderTest } from './server-under-test.ts'
import type { Client, Migration } from './whole-life.ts'

/** The versions under test, by the name the package has here. */
const PACKAGES = { 22: '@octokit/rest', 17: 'octokit-rest-17', 16: 'octokit-rest-16' } as const
export type OctokitVersion = keyof typeof PACKAGES

export const needsOctokit = (version: OctokitVersion) =>
  needs(`@octokit/rest ${version}`, isInstalled(PACKAGES[version]))

type Parameters = Readonly<Record<string, unknown>>
interface Method<T> {
  (parameters: Parameters): Promise<{ data: T }>
  endpoint: { merge(parameters: Parameters): Request<T> }
}
/** A request not yet sent, and what it will give. */
interface Request<T> {
  url: string
  given?: T
}
interface Named {
  full_name: string
}

/** What is used of an Octokit; the methods have kept their names since version 16, but for one. */
interface Octokit {
  migrations: {
    startForAuthenticatedUser: Method<Migration>
    listForAuthenticatedUser: Method<Migration[]>
    getStatusForAuthenticatedUser: Method<Migration>
    listReposForAuthenticatedUser?: Method<Named[]>
    listReposForUser: Method<Named[]>
    getArchiveForAuthenticatedUser: Method<ArrayBuffer>
    unlockRepoForAuthenticatedUser: Method<void>
    deleteArchiveForAuthenticatedUser: Method<void>
  }
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
  const quiet = { debug() {}, info() {}, warn() {}, error() {} }
  return new Octokit({ baseUrl: url, auth: token, log: quiet })
}

/** Full names of what the caller may migrate, page by page. */
export async function octokitRepositories(
  version: OctokitVersion,
  server: ServerUnderTest,
  perPage: number,
): Promise<string[][]> {
  const { paginate } = await createOctokit(version, server)
  const pages = paginate.iterator<Named[]>('GET /user/repos', { per_page: perPage })
  return Array.fromAsync(pages, ({ data }) => data.map(({ full_name }) => full_name))
}

export async function octokitClient(
  version: OctokitVersion,
  server: Pick<ServerUnderTest, 'url' | 'token'>,
  common: Parameters = {},
): Promise<Client> {
  const { migrations, paginate } = await createOctokit(version, server)

  return {
    async start(repositories, { lock }) {
      const asked = { ...common, repositories, lock_repositories: lock }
      return (await migrations.startForAuthenticatedUser(asked)).data
    },
    async *list(perPage) {
      const { endpoint } = migrations.listForAuthenticatedUser
      const asked = endpoint.merge({ ...common, per_page: perPage })
      for await (const { data } of paginate.iterator(asked)) yield data.map(({ id }) => id)
    },
    async status(id) {
      return (await migrations.getStatusForAuthenticatedUser({ ...common, migration_id: id })).data
    },
    async *repositories(id, perPage) {
      const { endpoint } = migrations.listReposForAuthenticatedUser ?? migrations.listReposForUser
      const asked = endpoint.merge({ ...common, migration_id: id, per_page: perPage })
      for await (const { data } of paginate.iterator(asked)) {
        yield data.map(({ full_name }) => full_name)
      }
    },
    async download(id, file) {
      const asked = { ...common, migration_id: id }
      const { data } = await migrations.getArchiveForAuthenticatedUser(asked)
      await writeFile(file, Buffer.from(data))
    },
    async unlock(id, name) {
      const asked = { ...common, migration_id: id, repo_name: name }
      await migrations.unlockRepoForAuthenticatedUser(asked)
    },
    async deleteArchive(id) {
      await migrations.deleteArchiveForAuthenticatedUser({ ...common, migration_id: id })
    },
  }
}
