import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArchive } from '../../src/archive/copy-archive.ts'
import { createDiskBlobStore } from '../../src/blobs/disk.ts'
import { connect } from '../../src/db/connect.ts'
import { upgradeSchema } from '../../src/db/upgrade.ts'
import { exportArchive } from '../../src/exporter/export-archive.ts'
import { createSegmentMaker } from '../../src/exporter/make-segment.ts'
import { addressesFrom } from '../../src/repositories/addresses.ts'
import { factsForViewer } from '../../src/repositories/facts-for-viewer.ts'
import { listCatalogue } from '../../src/repositories/repository-store.ts'
import { syncCatalogue } from '../../src/repositories/sync.ts'
import { gitDirectory } from '../../src/sources/directory/git-directory.ts'
import { collect } from './archive-samples.ts'
import type { GitHost } from './git-host.ts'

const BASE = 'http://localhost'
const WEB = `${BASE}/{owner}/{name}`

export interface HostArchiveOptions {
  now?: () => number
  /** Of a PostgreSQL that is empty; without it a SQLite is made and thrown away. */
  databaseUrl?: string | undefined
}

/** The archive of all that a host has, as it would be exported. */
export async function archiveOfHost(
  host: GitHost,
  { now = Date.now, databaseUrl }: HostArchiveOptions = {},
): Promise<Buffer> {
  const folder = await mkdtemp(join(tmpdir(), 'godwit-archive-'))
  await using made = new AsyncDisposableStack()
  made.defer(() => rm(folder, { recursive: true, force: true }))
  const database = await connect({ dataDirectory: folder, databaseUrl })
  made.defer(() => database.close())
  await upgradeSchema(database)
  const { db } = database
  const scratchDirectory = join(folder, 'scratch')
  await mkdir(scratchDirectory)
  const blobs = createDiskBlobStore(join(folder, 'blobs'))
  const source = gitDirectory({ root: host.root, git: host.godwitGit, cloneUrl: `${WEB}.git` })
  const parts = {
    ...{ db, blobs, now, source, generator: 'godwit test' },
    addresses: addressesFrom({ baseUrl: BASE, webUrl: WEB, cloneUrl: `${WEB}.git`, sshUrl: '' }),
    segments: createSegmentMaker({ source, blobs, scratchDirectory }),
    scratch: scratchDirectory,
    segmentCheckAgeMs: 60_000,
  }
  await syncCatalogue(parts)
  const entries = await listCatalogue(db)
  const owner = entries[0]!.owner
  const repositories = await factsForViewer(db, { account: owner }, entries)
  const order = { owner, repositories, allowPartial: false, concurrency: 2, onResult: () => {} }
  await using archive = await exportArchive(parts, order, new AbortController().signal)
  return await collect(readArchive(archive.plan, blobs))
}
