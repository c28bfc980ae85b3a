import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { type FaultStory, faultStory } from '../support/cluster-faults.ts'
import { post, untilEnded, verifyArchive } from '../support/cluster-story.ts'
import { reportFault, shortOrLong } from '../support/fire.ts'
import { needsObjectStore } from '../support/radosgw.ts'

const { migrations: MIGRATIONS, repositories: REPOSITORIES_EACH } = shortOrLong({
  short: { migrations: 8, repositories: 6 },
  // Of more than eight small repositories, several would share a job, without git.
  long: { migrations: 125, repositories: 8 },
})
/** Every repository is in four migrations, so that they compete for it. */
const REPOSITORIES = (MIGRATIONS * REPOSITORIES_EACH) / 4
const VERIFIED_AT_ONCE = 2

test(
  `${MIGRATIONS} concurrent migrations of ${REPOSITORIES_EACH} repositories end, and every archive verifies`,
  needsObjectStore,
  async (t) => {
    const flags = ['--max-unfinished-migrations', String(MIGRATIONS), '--rate-limit', '0']
    const story = await faultStory(t, { repositories: REPOSITORIES, flags })
    const { cluster, token, names } = story
    const apis = await Promise.all([cluster.api(), cluster.api()])
    const gits = await Promise.all([1, 2, 3].map((n) => countingGit(story, n)))
    const workers = await Promise.all(gits.map(({ program }) => cluster.worker('--git', program)))

    const selections = Array.from({ length: MIGRATIONS }, (_, n) =>
      Array.from(
        { length: REPOSITORIES_EACH },
        (_, at) => names[(n * REPOSITORIES_EACH + at) % REPOSITORIES]!,
      ),
    )
    const started = await Promise.all(
      selections.map((repositories, n) =>
        post(cluster, apis[n % 2]!, token, '/user/migrations', { repositories }),
      ),
    )
    const waiting = started.values()
    const verifyEach = async () => {
      for (const { id } of waiting) {
        await untilEnded(cluster, apis[0]!, token, id, 'exported')
        await verifyArchive(t, cluster, apis[1]!, token, id)
      }
    }
    await Promise.all(Array.from({ length: VERIFIED_AT_ONCE }, verifyEach))

    const verifications = gits.map(({ verifications }) => verifications())
    t.diagnostic(
      `${REPOSITORIES} repositories; verifications by worker: ${verifications.join(', ')}`,
    )
    assert.ok(
      verifications.every((count) => count > 0),
      'a worker had nothing to do',
    )
    await story.assertTidy(workers)
    reportFault(t, 'concurrent migrations', MIGRATIONS, 'every archive verified')
  },
)

/**
 * A git program that counts the snapshots it verifies, that is, the repositories exported by its worker. It
 * waits until all three workers have started one.
 */
async function countingGit({ cluster }: FaultStory, n: number) {
  const program = join(cluster.data, `git-${n}`)
  const countFile = `${program}.verifications`
  const others = [1, 2, 3].map(
    (each) => `[ -s ${join(cluster.data, `git-${each}.verifications`)} ]`,
  )
  const waits = `while ! { ${others.join(' && ')}; } && [ -e ${countFile} ]; do sleep 0.1; done`
  const script = `#!/bin/sh\ncase "$*" in *rev-list*--objects*) echo >> ${countFile}; ${waits} ;; esac\nexec git "$@"\n`
  await writeFile(countFile, '')
  await writeFile(program, script, { mode: 0o755 })
  return { program, verifications: () => readFileSync(countFile, 'utf8').length }
}
