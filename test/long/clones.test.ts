import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { gitHost } from '../support/git-host.ts'
import { startService, untilEnded } from '../support/service.ts'
import { until } from '../support/wait-until.ts'

const CLONES = 50
const REPOSITORIES = 10
const FILES = 8
const FILE_BYTES = 200_000
/** The longest accepted read: far longer than a read takes, and far shorter than a clone. */
const SLOWEST_READ_MS = 2000

test('fifty concurrent clones during an export are complete, and reads are answered', async (t) => {
  await using host = await gitHost()
  const names = Array.from({ length: REPOSITORIES }, (_, at) => `project-${at}`)
  for (const name of names) {
    const files = Array.from({ length: FILES }, (_, at) => [
      `file-${at}`,
      randomBytes(FILE_BYTES / 2).toString('hex'),
    ])
    const dir = await host.repository(`alice/${name}`, { files: Object.fromEntries(files) })
    await host.commit(dir, { last: name })
  }
  const service = await startService(t, { repositories: host.root, flags: ['--rate-limit', '0'] })
  const token = await service.token('alice')
  const work = await mkdtemp(join(tmpdir(), 'godwit-clones-'))
  t.after(() => rm(work, { recursive: true, force: true }))
  const body = JSON.stringify({ repositories: names })
  const started = await service.call(token, '/user/migrations', { method: 'POST', body })
  const { id } = (await started.json()) as { id: number }

  const from = service.url.replace('//', `//x:${token}@`)
  let running = CLONES
  const clones = Array.from({ length: CLONES }, async (_, at) => {
    const name = names[at % REPOSITORIES]!
    const into = join(work, String(at))
    try {
      await until('a slot is free', () =>
        host.git(['clone', '--quiet', '--bare', `${from}/alice/${name}.git`, into]).then(
          () => true,
          // A client that waits too long for a slot gets 503, as on a busy machine.
          (error: unknown) => {
            if (!/returned error: 503/.test(String(error))) throw error
            return false
          },
        ),
      )
      await host.git(['fsck', '--full', '--strict'], { dir: into })
      const tip = await host.git(['rev-parse', 'HEAD'], { dir: into })
      assert.equal(tip, await host.git(['rev-parse', 'HEAD'], { dir: host.path(`alice/${name}`) }))
    } finally {
      running--
    }
  })
  const all = Promise.all(clones)
  const beganAll = performance.now()
  // Reports the first error, not its consequences.
  all.catch(() => {})
  const took: number[] = []
  while (running > 0) {
    const began = performance.now()
    const response = await service.call(token, `/user/migrations/${id}`)
    assert.equal(response.status, 200)
    await response.arrayBuffer()
    took.push(performance.now() - began)
    await pause(20)
  }
  await all
  // On a busy machine the clones take longer too.
  const slowest = Math.max(SLOWEST_READ_MS, (performance.now() - beganAll) / 4)
  await untilEnded(service, token, id, 'exported')
  took.sort((a, b) => a - b)
  const p99 = took[Math.floor(took.length * 0.99)]!
  t.diagnostic(`${took.length} reads beside ${CLONES} clones, p99 ${Math.round(p99)} ms`)
  assert.ok(p99 < slowest, `p99 of ${took.length} reads is ${p99} ms`)
})
