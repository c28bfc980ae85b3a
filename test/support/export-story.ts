import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { type EndedMigration, type EndState, untilEnded } from './ended-migration.ts'
import { type GitHost, gitHost } from './git-host.ts'
import { temporaryDirectory } from './sample-repositories.ts'
import { type Service, type ServiceOptions, type SharedService, startService } from './service.ts'
import { startSharedService } from './start-shared-service.ts'

const run = promisify(execFile)

export interface StoryOptions extends Omit<ServiceOptions, 'repositories' | 'engine'> {
  /** Makes the repositories before the service starts; at least one of alice. */
  repositories(host: GitHost): unknown
}

export type StartFlags = Partial<
  Record<
    | 'lock_repositories'
    | 'exclude_metadata'
    | 'exclude_git_data'
    | 'org_metadata_only'
    | 'allow_partial',
    boolean
  >
>

type Ended = EndedMigration & { id: number }

/** A git host with a service, and alice, who migrates her repositories. */
export interface ExportStory<Served extends SharedService = Service> {
  host: GitHost
  service: Served
  /** Sends a request with alice's token. */
  call(path: string, init?: RequestInit): Promise<Response>
  /** Starts a migration and resolves to its id. */
  start(repositories: readonly string[], flags?: StartFlags): Promise<number>
  /**
   * Waits for the end of the migration. In another state than the expected one, the assertion shows the
   * migration's report.
   */
  untilEnded(id: number, expected?: EndState): Promise<Ended>
  /** Starts a migration and waits for its end, by default `exported`. */
  migrate(repositories: readonly string[], flags?: StartFlags, expected?: EndState): Promise<Ended>
  /** Releases the locks of these repositories that the migration still holds. */
  unlock(id: number, names: readonly string[]): Promise<void>
  /** Returns the signed link of the archive. */
  link(id: number): Promise<string>
  /** Downloads the archive through its signed link, and returns the file. */
  download(id: number): Promise<string>
  /** Downloads the archive and unpacks it with plain tar, and returns the folder. */
  unpack(id: number): Promise<string>
}

export type SharedStory = ExportStory<SharedService>

/** Starts a story with a service in its own process, for tests that kill it. */
export const exportStory = (t: Cleanup, options: StoryOptions): Promise<ExportStory> =>
  startStory(startService, t, options)

/** Starts a story with a service in the shared process. */
export const sharedExportStory = (t: Cleanup, options: StoryOptions): Promise<SharedStory> =>
  startStory(startSharedService, t, options)

type Cleanup = Pick<TestContext, 'after'>

async function startStory<Served extends SharedService>(
  startService: (t: Cleanup, options: ServiceOptions) => Promise<Served>,
  t: Cleanup,
  { repositories, ...options }: StoryOptions,
): Promise<ExportStory<Served>> {
  const host = await gitHost()
  t.after(host.remove)
  await repositories(host)
  const service = await startService(t, { repositories: host.root, ...options })
  const folder = temporaryDirectory(t)
  const alice = await service.token('alice')
  const call: ExportStory['call'] = (path, init) => service.call(alice, path, init)

  const start: ExportStory['start'] = async (names, flags = {}) => {
    const body = JSON.stringify({ repositories: names, exclude: ['repositories'], ...flags })
    const response = await call('/user/migrations', { method: 'POST', body })
    if (response.status !== 201) assert.fail(`${await response.text()}\n${service.log()}`)
    return ((await response.json()) as { id: number }).id
  }
  const waitUntilEnded: ExportStory['untilEnded'] = async (id, expected) => ({
    id,
    ...(await untilEnded(service, alice, id, expected)),
  })

  const link: ExportStory['link'] = async (id) => {
    const response = await call(`/user/migrations/${id}/archive`)
    assert.equal(response.status, 302)
    return response.headers.get('location') ?? assert.fail('no location')
  }

  const download: ExportStory['download'] = async (id) => {
    const response = await fetch(await link(id))
    assert.equal(response.status, 200)
    const archive = join(folder, `${id}.tar.gz`)
    await pipeline(Readable.fromWeb(response.body as ReadableStream), createWriteStream(archive))
    return archive
  }

  const unlock: ExportStory['unlock'] = async (id, names) => {
    for (const name of names) {
      const path = `/user/migrations/${id}/repos/${encodeURIComponent(name)}/lock`
      const { status } = await call(path, { method: 'DELETE' })
      // The response to an earlier attempt may have been lost.
      assert.ok(status === 204 || status === 404, `${name}: ${status}`)
    }
  }

  return {
    host,
    service,
    call,
    unlock,
    start,
    untilEnded: waitUntilEnded,
    migrate: async (names, flags, expected = 'exported') =>
      waitUntilEnded(await start(names, flags), expected),
    link,
    download,
    async unpack(id) {
      const to = await mkdtemp(join(folder, `${id}-`))
      await run('tar', ['-xzf', await download(id), '-C', to])
      return to
    },
  }
}

export { until } from './wait-until.ts'
