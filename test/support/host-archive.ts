import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArchive } from '../../packages/archive/src/tar/copy-archive.ts'
import { gitDirectory } from '../../packages/hosts/src/directory/git-directory.ts'
import { createDiskBlobStore } from '../../packages/server/src/blobs/disk.ts'
import { connect } from '../../packages/server/src/db/connect.ts'
import { upgradeSchema } from '../../packages/server/src/db/upgrade.ts'
import { exportArchive } from '../../packages/server/src/exporter/export-archive.ts'
import { createSegmentMaker } from '../../packages/server/src/exporter/make-segment.ts'
import { addressesFrom } from '../../packages/server/src/repositories/addresses.ts'
import { syncAllRepositories } from '../../packages/server/src/repositories/sync.ts'
import { metadataForViewer } from '../../packages/server/src/repositories/visible-repository.ts'
import { collect } from './archive-samples.ts'
import type { GitHost } from './git-host.ts'
import { listIndex } from './list-index.ts'

const BASE = 'http://localhost'
const WEB = `${BASE}/{owner}/{name}`

export interface HostArchiveOptions {
  now?: () => number
  /** An empty PostgreSQL database. Default: a temporary SQLite database. */
  databaseUrl?: string | undefined
}

/** Exports all repositories of a host and returns the archive. */
export async function archiveOfHost(
  host: GitHost,
  { now = Date.now, databaseUrl }: HostArchiveOptions = {},
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-archive-'))
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const database = await connect({ dataDirectory: folder, databaseUrl })
  cleanup.defer(() => database.close())
  await upgradeSchema(database)
  const { db } = database
  const scratchDirectory = join(folder, 'scratch')
  await mkdir(scratchDirectory)
  const blobs = createDiskBlobStore(join(folder, 'blobs'))
  const source = gitDirectory({ root: host.root, git: host.godwitGit, cloneUrl: `${WEB}.git` })
  const dependencies = {
    ...{ db, blobs, now, source, generator: 'godwit test' },
    addresses: addressesFrom({ baseUrl: BASE, webUrl: WEB, cloneUrl: `${WEB}.git`, sshUrl: '' }),
    segments: createSegmentMaker({ source, blobs, scratchDirectory }),
    scratch: scratchDirectory,
    segmentCheckAgeMs: 60_000,
  }
  await syncAllRepositories(dependencies)
  const entries = await listIndex(db)
  const owner = entries[0]!.owner
  const repositories = await metadataForViewer(db, { account: owner }, entries)
  const request = { owner, repositories, allowPartial: false, concurrency: 2, onResult: () => {} }
  await using archive = await exportArchive(dependencies, request, new AbortController().signal)
  return await collect(readArchive(archive.plan, blobs))
}
