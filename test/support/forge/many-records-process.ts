import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { readArchive } from '../../../packages/archive/src/tar/copy-archive.ts'
import { gitDirectory } from '../../../packages/hosts/src/directory/git-directory.ts'
import {
  CURSOR_FORMAT,
  type Discussions,
  type Group,
} from '../../../packages/hosts/src/discussions.ts'
import { ensureAccount } from '../../../packages/server/src/accounts/account-store.ts'
import { createDiskBlobStore } from '../../../packages/server/src/blobs/disk.ts'
import { connect } from '../../../packages/server/src/db/connect.ts'
import { upgradeSchema } from '../../../packages/server/src/db/upgrade.ts'
import { exportArchive } from '../../../packages/server/src/exporter/export-archive.ts'
import { createSegmentMaker } from '../../../packages/server/src/exporter/make-segment.ts'
import { addressesFrom } from '../../../packages/server/src/repositories/addresses.ts'
import { syncAllRepositories } from '../../../packages/server/src/repositories/sync.ts'
import { metadataForViewer } from '../../../packages/server/src/repositories/visible-repository.ts'
import { gitHost } from '../git-host.ts'
import { listIndex } from '../list-index.ts'

/**
 * Exports a repository with this many issues and four records for each, optionally to a file, and prints the peak
 * memory in MiB.
 */

const COUNT = Number(process.argv[2])
const OUTPUT = process.argv[3] ?? '/dev/null'
const WORDS = 'some words of a text that is about as long as people write. '.repeat(10)
const AT = '2024-01-01T00:00:00Z'
const USER = { name: null, bio: null, company: null, website: null, location: null, emails: [] }

function groupOf(number: number): Group {
  const repository = 'ann/many'
  const on = { kind: 'issue' as const, number }
  const comments = [1, 2].map((n) => ({
    ...{ repository, on, id: number * 10 + n, author: 'ann', body: WORDS, reactions: [] },
    ...{ createdAt: AT, updatedAt: AT },
  }))
  const events = [3, 4].map((n) => ({
    ...{ repository, on, id: number * 10 + n, actor: 'ann', createdAt: AT },
    ...{ event: 'subscribed', kind: 'subscribed' },
  }))
  const issue = {
    ...{ repository, number, author: 'ann', title: `issue ${number}`, body: WORDS },
    ...{ assignees: [], milestone: null, labels: [], reactions: [], closedAt: null },
    ...{ createdAt: AT, updatedAt: AT },
  }
  const records = { issues: [issue], issue_comments: comments, issue_events: events }
  return { key: `issue/${number}`, version: '1', records: records as Group['records'], files: [] }
}

const cursor = (isComplete: boolean) =>
  JSON.stringify({
    format: CURSOR_FORMAT,
    isComplete,
    asOf: 0,
    changeToken: 'change token',
    notes: [],
  })

const discussions: Discussions = {
  sharing: () => discussions,
  findChanges: async () => ({
    changeToken: 'other',
    async *batches() {
      for (let from = 1; from <= COUNT; from += 50) {
        const put = Array.from({ length: 50 }, (_, n) => groupOf(from + n))
        const progress = { read: from, total: COUNT }
        yield { put, remove: [], cursor: cursor(from + 50 > COUNT), progress }
      }
    },
  }),
  owner: async (login) => {
    const users = [{ ...USER, login, avatar: null, createdAt: AT }]
    return { key: `owner/${login}`, version: '1', records: { users }, files: [] }
  },
  open: async function* () {},
}

const folder = await mkdtemp(join(tmpdir(), 'godwit-many-'))
const host = await gitHost()
try {
  await host.repository('ann/many', { files: { a: 'a' } })
  const database = await connect({ dataDirectory: folder, databaseUrl: undefined })
  await upgradeSchema(database)
  const { db } = database
  const scratch = join(folder, 'scratch')
  await mkdir(scratch)
  const blobs = createDiskBlobStore(join(folder, 'blobs'))
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const base = 'http://git.test'
  const dependencies = {
    ...{ db, blobs, source, scratch, now: Date.now, generator: 'godwit test' },
    addresses: addressesFrom({
      baseUrl: base,
      webUrl: `${base}/{owner}/{name}`,
      cloneUrl: base,
      sshUrl: '',
    }),
    segments: createSegmentMaker({ source, blobs, scratchDirectory: scratch }),
    forge: { url: base, discussions },
    segmentCheckAgeMs: 60_000,
  }
  await syncAllRepositories(dependencies)
  const owner = await ensureAccount(db, 'ann', 0)
  const repositories = await metadataForViewer(db, { account: owner }, await listIndex(db))
  const order = { owner, repositories, allowPartial: false, concurrency: 1, onResult: () => {} }
  await using archive = await exportArchive(dependencies, order, new AbortController().signal)
  const output = createWriteStream(OUTPUT)
  await pipeline(readArchive(archive.plan, blobs), output)
  const bytes = output.bytesWritten
  const peakMiB = Math.round(process.resourceUsage().maxRSS / 1024)
  process.stdout.write(JSON.stringify({ peakMiB, bytes }))
  await database.close()
} finally {
  await host.remove()
  await rm(folder, { recursive: true, force: true })
}
