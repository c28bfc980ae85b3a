import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, readdir, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MIT, metadataScene } from '../../../../test/support/metadata-scene.ts'
import { createGit } from '../git.ts'
import { Unreadable } from '../unreadable.ts'

const { host, nextName, metadataOf, assertUnreadable } = await metadataScene()
after(() => host.remove())

test('a missing commit', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  const metadata = await metadataOf(dir)
  await forgetLoose(dir, metadata.headCommit!)
  await assertUnreadable(dir, /missing object|bad object/)
  await assertUnreadable(dir, /missing object|bad object/, metadata)
})

test('a missing tree', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await forgetLoose(dir, await host.git(['rev-parse', 'main^{tree}'], { dir }))
  await assertUnreadable(dir, /not a tree object|unable to read|could not read/)
})

test('corrupt packed refs, config and objects', async () => {
  const refs = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await writeFile(join(refs, 'packed-refs'), 'nonsense\n')
  await assertUnreadable(refs, /unexpected line in packed-refs/)
  const config = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await writeFile(join(config, 'config'), '[core\n')
  await assertUnreadable(config, /bad config line 1 in file config/)
  const objects = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  await host.git(['repack', '-adq'], { dir: objects })
  const pack = (await readdir(join(objects, 'objects/pack'))).find((f) => f.endsWith('.pack'))!
  await chmod(join(objects, 'objects/pack', pack), 0o644)
  await truncate(join(objects, 'objects/pack', pack), 20)
  await assertUnreadable(objects, /packfile|missing object|bad object/)
})

test('a config that is a pipe does not block', async () => {
  const dir = await host.repository(nextName())
  await rm(join(dir, 'config'))
  execFileSync('mkfifo', [join(dir, 'config')])
  await assertUnreadable(dir, /config is not a regular file/)
})

test('an unknown format, and objects borrowed from a missing repository', async () => {
  const future = await host.repository(nextName(), {
    config: { 'core.repositoryFormatVersion': '1', 'extensions.fromTheFuture': 'true' },
  })
  await assertUnreadable(future, /unknown repository extension/)
  const borrowed = await host.repository(nextName(), { files: { 'a.py': 'a' } })
  const commit = await host.git(['rev-parse', 'main'], { dir: borrowed })
  await writeFile(join(borrowed, 'objects/info/alternates'), '/tmp/no/such/objects\n')
  await forgetLoose(borrowed, commit)
  await assertUnreadable(borrowed, /missing object|bad object|does not exist/)
})

test('programs that a repository names are not run', async () => {
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a', LICENSE: MIT } })
  const canary = join(host.root, '..', 'canary')
  const program = `touch ${canary}`
  const blob = await host.git(['rev-parse', 'main:LICENSE'], { dir })
  await host.git(['config', 'core.repositoryFormatVersion', '1'], { dir })
  for (const [key, value] of Object.entries({
    'extensions.partialClone': 'origin',
    'remote.origin.url': host.path('alice/elsewhere'),
    'remote.origin.promisor': 'true',
    'remote.origin.uploadpack': program,
    'core.sshCommand': program,
    'core.fsmonitor': program,
    'core.pager': program,
    'core.alternateRefsCommand': program,
    'gpg.program': program,
    'diff.external': program,
  })) {
    await host.git(['config', key, value], { dir })
  }
  await forgetLoose(dir, blob)
  await assert.rejects(host.git(['cat-file', '-p', blob], { dir }))
  assert.equal(existsSync(canary), true, 'the trap does not work')
  await rm(canary)
  await metadataOf(dir).catch((error: unknown) => assert.ok(error instanceof Unreadable))
  assert.equal(existsSync(canary), false)
})

test('a missing git is not reported as an error of the repository', async () => {
  // A config with includes is read by git.
  const config = { 'include.path': 'more' }
  const dir = await host.repository(nextName(), { files: { 'a.py': 'a' }, config })
  const home = join(host.root, '..', 'another-home')
  const git = createGit({ program: 'no-such-git', searchPath: '/nonexistent', home })
  await assert.rejects(metadataOf(dir, undefined, git), (error) => !(error instanceof Unreadable))
})

async function forgetLoose(dir: string, oid: string): Promise<void> {
  await rm(join(dir, 'objects', oid.slice(0, 2), oid.slice(2)))
}
