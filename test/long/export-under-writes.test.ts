import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { assertNoErrors, assertNothingLeftOver } from '../support/export-leftovers.ts'
import { assertArchiveHolds, refStateOf } from '../support/export-proof.ts'
import { sharedExportStory } from '../support/export-story.ts'
import type { GitHost } from '../support/git-host.ts'
import { initBare, packedHistory } from '../support/sample-repositories.ts'

const MIGRATIONS = 6
const NAME = 'alice/busy'

test('a repository is complete in every archive although it is pushed to and repacked all the time', async (t) => {
  const { host, service, migrate, unpack } = await sharedExportStory(t, {
    repositories(host) {
      initBare(host.path(NAME))
      packedHistory(host.path(NAME), 'refs/heads/main', 300)
    },
  })
  await using writer = startWriter(host)
  const exported: string[] = []
  for (let n = 0; n < MIGRATIONS; n++) {
    const { id } = await migrate(['busy'])
    const folder = await unpack(id)
    const { head, refs } = refStateOf(join(folder, 'repositories', `${NAME}.git`))
    assertArchiveHolds(folder, { [NAME]: { head, refs } })
    exported.push(refs.find((ref) => ref.startsWith('refs/heads/main '))!.split(' ')[1]!)
  }
  const pushed = await writer.stop()
  const order = exported.map((tip) => pushed.indexOf(tip))
  assert.ok(!order.includes(-1), 'each exported state was pushed')
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  )
  assert.ok(new Set(exported).size > 1, 'no push fell between two exports')
  t.diagnostic(`${pushed.length - 1} pushes, ${new Set(exported).size} states exported`)
  assertNothingLeftOver(service)
  await assertNoErrors(service)
})

/** Pushes to main and to a temporary branch, and repacks in between like a host, until it is stopped. */
function startWriter(host: GitHost) {
  const dir = host.path(NAME)
  const clone = join(host.root, '../clone')
  let isStopped = false

  async function write(): Promise<string[]> {
    await host.git(['clone', '--quiet', '--bare', dir, clone])
    const tips = [await host.git(['rev-parse', 'main'], { dir: clone })]
    for (let n = 0; !isStopped; n++) {
      tips.push(await host.commit(clone, { [`file-${n % 5}`]: `${n}\n`.repeat(1000) }))
      const passing = n % 2 === 0 ? 'main:passing' : ':passing'
      await host.git(['push', '--quiet', dir, 'main', passing], { dir: clone })
      if (n % 3 === 2) await host.git(['repack', '-adq'], { dir })
      if (n % 5 === 4) await host.git(['gc', '--quiet'], { dir })
    }
    return tips
  }

  const written = write()
  const stop = () => {
    isStopped = true
    return written
  }
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) }
}
