import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { SegmentContents } from '../../packages/archive/src/formats/github-archive/segment-contents.ts'
import { readArchive } from '../../packages/archive/src/tar/copy-archive.ts'
import { type Manifest, parseManifest } from '../../packages/archive/src/tar/manifest.ts'
import { planArchive } from '../../packages/archive/src/tar/plan-archive.ts'
import { readEntries } from '../../packages/archive/src/tar/read-entries.ts'
import { writeSegment } from '../../packages/archive/src/tar/write-segment.ts'
import { Unreadable } from '../../packages/git/src/unreadable.ts'
import type { FoundRepository, RepositoryName, Source } from '../../packages/hosts/src/source.ts'
import { ensureAccount } from '../../packages/server/src/accounts/account-store.ts'
import { createDiskBlobStore } from '../../packages/server/src/blobs/disk.ts'
import type { Db } from '../../packages/server/src/db/database.ts'
import {
  claimBlobStore,
  isOwnerMark,
  sweepArchives,
  sweepSegments,
} from '../../packages/server/src/exporter/blob-store-owner.ts'
import {
  type ExportDependencies,
  exportHandlers,
} from '../../packages/server/src/exporter/export-migration.ts'
import type { SegmentMaker } from '../../packages/server/src/exporter/make-segment.ts'
import { readDigest, storedLength } from '../../packages/server/src/exporter/read-digest.ts'
import { archiveSegments } from '../../packages/server/src/migrations/archive-store.ts'
import { migrationById } from '../../packages/server/src/migrations/export-store.ts'
import {
  DEFAULT_OPTIONS,
  type MigrationOptions,
} from '../../packages/server/src/migrations/migration.ts'
import { outcomesOf } from '../../packages/server/src/migrations/outcomes.ts'
import { namedRepositoriesOf } from '../../packages/server/src/migrations/repository-list-store.ts'
import { startMigration } from '../../packages/server/src/migrations/start-migration.ts'
import { embeddedQueue } from '../../packages/server/src/queue/embedded.ts'
import { addressesFrom } from '../../packages/server/src/repositories/addresses.ts'
import { metadataOfUnreadable } from '../../packages/server/src/repositories/repository-metadata.ts'
import { syncAllRepositories } from '../../packages/server/src/repositories/sync.ts'
import { DELIVER_WEBHOOK } from '../../packages/server/src/webhooks/record-event.ts'
import { collect, file, temporaryFolder } from './archive-samples.ts'
import { type Engine, openDatabase } from './databases.ts'
import { until } from './wait-until.ts'

const fullNameOf = ({ owner, name }: RepositoryName) => `${owner}/${name}`

/** A host in memory. `contents` has the content of each repository by its full name. */
export class FakeHost {
  readonly contents = new Map<string, string>()
  readonly locked = new Set<string>()
  /** The logins that administer every repository in addition to its owner. */
  collaborators: readonly string[] = []
  organizations: readonly string[] = []
  readonly examined: string[] = []
  /** What proves the state of the repositories, and what an examination got as the last proof. */
  changeToken: string | undefined
  readonly lastChangeTokens: (string | undefined)[] = []
  readonly segmentsMade: string[] = []
  /** Called when a repository is examined, and again when its segment is made. */
  onRead = async (_fullName: string): Promise<void> => {}
  onMake = async (_fullName: string, _signal: AbortSignal): Promise<void> => {}
  onLock = async (_fullName: string): Promise<void> => {}

  read(fullName: string) {
    const content = this.contents.get(fullName)
    if (content === undefined) throw new Unreadable(`${fullName}: the repository no longer exists`)
    const { changeToken } = this
    return { fingerprint: `${fullName} ${content}`, bytes: content.length, changeToken, content }
  }

  /** Returns the part of a source that the repository index and the locks use. `maker` reads the contents. */
  source(): Source {
    const found = (fullName: string): FoundRepository => {
      const [owner = '', name = ''] = fullName.split('/')
      return { owner, name, changeToken: this.contents.get(fullName) ?? '', hasWiki: false }
    }
    const { contents, locked } = this
    const source: Partial<Source> = {
      async *list() {
        for (const fullName of contents.keys()) yield { found: found(fullName) }
      },
      find: async (owner, name) => {
        const fullName = `${owner}/${name}`
        return contents.has(fullName) ? found(fullName) : undefined
      },
      metadata: async ({ owner }) => {
        const collaborators = this.collaborators.map((login) => ({
          login,
          permission: 'admin' as const,
        }))
        const isOrganization = this.organizations.includes(owner)
        const ownerType = isOrganization ? { ownerIsOrganization: true as const } : {}
        return { ...metadataOfUnreadable(0), collaborators, ...ownerType }
      },
      checkLock: async () => {},
      reconcileLock: async (repository, isWanted) => {
        const fullName = fullNameOf(repository)
        if (!(await isWanted())) return void locked.delete(fullName)
        await this.onLock(fullName)
        locked.add(fullName)
      },
    }
    return source as Source
  }

  /** Makes segments with one file. Its content is also the fingerprint. */
  maker(blobs: ExportDependencies['blobs']): SegmentMaker {
    return {
      digest: (key, signal) => readDigest(blobs, key, { signal }),
      examine: (repositories) =>
        Array.fromAsync(repositories, async (repository) => {
          const fullName = fullNameOf(repository)
          this.examined.push(fullName)
          this.lastChangeTokens.push(repository.last.changeToken)
          try {
            await this.onRead(fullName)
            const length = await storedLength(blobs, repository.last.key)
            return { ...this.read(fullName), storedLength: length }
          } catch {
            return undefined
          }
        }),
      make: async ({ repository, key, storedFingerprints }, signal, onProgress) => {
        const fullName = fullNameOf(repository)
        this.segmentsMade.push(fullName)
        await this.onRead(fullName)
        const { fingerprint, bytes, changeToken, content } = this.read(fullName)
        if (storedFingerprints.includes(fingerprint))
          return { fingerprint, bytes, segment: undefined }
        onProgress({ fingerprint, bytes, bytesDone: 0 })
        await this.onMake(fullName, signal)
        signal.throwIfAborted()
        const entries = [file(`repositories/${fullName}.git/HEAD`, Buffer.from(content))]
        const segment = await writeSegment(entries, (deflated) =>
          blobs.put(key, deflated, { signal }),
        )
        onProgress({ fingerprint, bytes, bytesDone: bytes })
        const contents = JSON.stringify(contentsOf(fullName, bytes))
        const details = { contents, verified: content, warning: null, missingLfs: 0 }
        return {
          fingerprint,
          bytes,
          segment: { key, ...segment, fingerprint, bytes, changeToken, ...details },
        }
      },
    }
  }
}

function contentsOf(full_name: string, size: number): SegmentContents {
  const git = { object_format: 'sha1', head: 'refs/heads/main', refs: [], symrefs: [] } as const
  return { full_name, size, ...git, refs: [], symrefs: [], wiki: null, lfs: [], files: [] }
}

const BASE = 'http://localhost'
export const SEGMENT_CHECK_AGE_MS = 3_600_000

/** Sets up an exporter with a real database, queue and store, and a fake host. */
export async function exportScene(
  t: TestContext,
  contents: Readonly<Record<string, string>>,
  engine: Engine = 'sqlite',
  people: Partial<Pick<FakeHost, 'collaborators' | 'organizations'>> = {},
) {
  const { db } = await openDatabase(t, engine)
  const host = Object.assign(new FakeHost(), people)
  for (const [fullName, content] of Object.entries(contents)) host.contents.set(fullName, content)
  const blobs = createDiskBlobStore(join(await temporaryFolder(t), 'blobs'))
  const queue = embeddedQueue({ db, retryPauseMs: 1, retryLaterPauseMs: 1, pollIntervalMs: 20 })
  const clock = { now: Date.now() }
  const log = createMemoryLog()
  const dependencies: ExportDependencies = {
    ...{ db, queue, blobs, source: host.source(), segments: host.maker(blobs) },
    log,
    scratch: await temporaryFolder(t),
    forge: undefined,
    permissionsRefresher: undefined,
    now: () => clock.now++,
    addresses: addressesFrom({ baseUrl: BASE, webUrl: BASE, cloneUrl: BASE, sshUrl: '' }),
    generator: 'godwit test',
    archiveTtlMs: 60_000,
    segmentCheckAgeMs: SEGMENT_CHECK_AGE_MS,
    isComposed: false,
  }
  await claimBlobStore(db, blobs)
  await syncAllRepositories(dependencies)
  const errors: string[] = []

  return {
    ...{ db, host, blobs, queue, dependencies, clock, errors, logged: log.lines },
    async start(names: string[], options: Partial<MigrationOptions> = {}, login = 'alice') {
      const scope = { owner: await ensureAccount(db, login, 0) }
      const request = { repositories: names, options: { ...DEFAULT_OPTIONS, ...options } }
      const limits = { maxUnfinished: 99, lockTtlMs: 60_000 }
      return (await startMigration({ ...dependencies, ...limits }, scope, request)).id
    },
    /** Runs jobs until none is left. */
    async work(change: Partial<ExportDependencies> = {}, concurrency = 1): Promise<void> {
      const working = queue.work(exportHandlers({ ...dependencies, ...change }), {
        concurrency,
        onError: (error) => errors.push(String(error)),
      })
      await until(
        () => `all jobs are done; ${errors.join('; ')}`,
        // Other workers deliver webhooks.
        async () =>
          (await queue.backlog()).every(({ kind }) => kind === DELIVER_WEBHOOK) &&
          queue.running() === 0,
      )
      await working.stop()
    },
    async archive(id: number) {
      const plan = planArchive(await archiveSegments(db, { id }))
      const files = new Map<string, string>()
      for await (const { path, kind, content } of readEntries(readArchive(plan, blobs)))
        if (kind === 'file') files.set(path, String(await collect(content)))
      const manifest: Manifest = parseManifest(files.get('godwit-manifest.json') ?? '')
      return { files, manifest }
    },
    keysInStore: async () =>
      (await Array.fromAsync(blobs.list()))
        .map(({ key }) => key)
        .filter((key) => !isOwnerMark(key))
        .sort(),
  }
}

/** Returns a log that collects its lines as `level: message`. */
function createMemoryLog() {
  const lines: string[] = []
  const at = (level: string) => (_fields: object, message: string) =>
    void lines.push(`${level}: ${message}`)
  return { lines, info: at('info'), warn: at('warn'), error: at('error') }
}

/** Removes expired archives, and segments that no archive has used for a while. */
export async function sweep(dependencies: Parameters<typeof sweepSegments>[0]): Promise<void> {
  await sweepArchives(dependencies)
  await sweepSegments(dependencies)
}

export async function endOf(db: Db, id: number) {
  const { state, reason } = await migrationById(db, id)
  return { state, reason }
}

export async function assertExported(db: Db, id: number): Promise<void> {
  assert.deepEqual(await endOf(db, id), { state: 'exported', reason: null })
}

/** Returns the outcome of each repository by its full name: exported, reused, or why it was skipped or failed. */
export async function outcomesByName(db: Db, migrationId: number): Promise<Record<string, string>> {
  const migration = await migrationById(db, migrationId)
  const outcomes = await outcomesOf(db, migration)
  const describeOutcome = (position: number): string => {
    const { outcome = null, reused, reason } = outcomes.get(position) ?? {}
    if (reason) return `${outcome}: ${reason}`
    return outcome === null ? 'waiting' : reused ? 'reused' : 'exported'
  }
  const named = await namedRepositoriesOf(db, migration)
  return Object.fromEntries(
    named.map(({ fullName }, position) => [fullName, describeOutcome(position)]),
  )
}
