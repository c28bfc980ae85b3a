import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../../../../test/support/archive-samples.ts'
import { type DumpDependencies, dumpForGitea } from '../../../../../test/support/dump-for-gitea.ts'
import { startForge } from '../../../../../test/support/forge/fake-forge.ts'
import { recordsOfForge } from '../../../../../test/support/forge/records-of-forge.ts'
import { FORGEJO_11, GITEA_1_15 } from '../../../../../test/support/forge/render.ts'
import { seedForge } from '../../../../../test/support/forge/seeded-scene.ts'
import { gitHost } from '../../../../../test/support/git-host.ts'
import { writeUnpackedArchive } from '../../../../../test/support/gitea-archive.ts'
import { readDump } from '../../../../../test/support/gitea-dump-reader.ts'
import { recordsOfArchive, recordsOfDump } from '../../../../../test/support/gitea-records.ts'

for (const dialect of [GITEA_1_15, FORGEJO_11])
  test(`records of ${dialect.version} survive the way through an archive into a dump`, async (t) => {
    const forge = await startForge({ dialect })
    t.after(() => forge.stop())
    forge.world.advanceClockPerRequest()
    const target = { url: forge.url, token: 'admin-token' }
    const { repository } = await seedForge(target)
    const fullName = `${repository.owner}/${repository.name}`
    const folder = await temporaryFolder(t)
    const archive = join(folder, 'archive')
    const records = await recordsOfForge(target, repository, archive)
    await using host = await gitHost()
    // This git data has another history, so the commits of pull requests are missing.
    await host.repository(fullName, { files: { a: 'a' } })
    await writeUnpackedArchive(archive, host, records)
    const into = join(folder, 'dumps')
    const open = () => ({ folder: archive })
    const options: DumpDependencies = {
      ...{ git: host.godwitGit, into, open, people: new Map(), keepLinks: true, forge: '' },
      repositories: [],
      onEvent: () => {},
    }
    await Array.fromAsync(dumpForGitea(options, new AbortController().signal))
    const dump = readDump(join(into, fullName))
    const { inline, reviews, ...expected } = recordsOfArchive(records, fullName, () => false)
    const { inline: inlineDumped, reviews: reviewsDumped, ...dumped } = recordsOfDump(dump)
    assert.deepEqual(dumped, expected)
    // Each comment on a line of a missing commit becomes a review that names the line.
    assert.deepEqual(inlineDumped, [])
    const moved = reviewsDumped.filter((review) => !reviews.includes(review))
    assert.equal(reviewsDumped.length, reviews.length + inline.length)
    const idOf = (text: string) => text.split(' ')[0]
    assert.deepEqual(moved.map(idOf).sort(), inline.map(idOf).sort())
    for (const review of moved) assert.match(review, /`work-1\.txt`, line \d+:\n\n/)
    assert.ok(dump.issues.length > 50)
    const assets = dump.releases.flatMap((release) => release.assets)
    assert.ok(assets.length > 0)
    for (const { download_url } of assets)
      assert.ok(existsSync(join(into, fullName, download_url)), download_url)
  })
