import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { gitHost } from '../support/git-host.ts'
import { git, temporaryDirectory } from '../support/odd-repositories.ts'
import { changed, desk } from '../support/without-server.ts'

const SITE = 'repositories/alice/site.git'

let archive: string

before(async (t) => {
  await using host = await gitHost()
  await host.repository('alice/site', { files: { a: 'a' }, wiki: { 'Home.md': '# Home\n' } })
  await host.repository('alice/notes', { files: { b: 'b' } })
  const { godwit } = await desk(t as never)
  archive = join(temporaryDirectory(t as never), 'whole.tar.gz')
  const order = ['export', 'alice', '--repositories', host.root, '--output', archive]
  const { code, said } = await godwit(order)
  assert.equal(code, 0, said)
})

test('a hostile archive is refused before anything is written', async (t) => {
  const { godwit, folder, leftovers } = await desk(t)
  const file = join(folder, 'hostile.tar.gz')
  await changed(archive, file, (all) => [...all, { name: '../evil' }])
  const { code, said, stderr } = await godwit(['restore', file, '--into', 'into'])
  assert.equal(code, 1, said)
  assert.match(stderr, /the path "\.\.\/evil" has a part that is "\.\."/)
  assert.deepEqual(readdirSync(folder), ['hostile.tar.gz'])
  assert.deepEqual(await leftovers(), [])
})

test('what is there stays, and then nothing is restored', async (t) => {
  const { godwit, folder, leftovers } = await desk(t)
  const into = join(folder, 'into')
  await mkdir(join(into, 'alice/SITE.git'), { recursive: true })
  const { code, stderr } = await godwit(['restore', archive, '--into', into])
  assert.equal(code, 1)
  assert.match(stderr, /alice\/SITE\.git is there already; move it away/)
  assert.deepEqual(readdirSync(join(into, 'alice')), ['SITE.git'])
  assert.deepEqual(await leftovers(), [])
})

test('a repository that is not whole is left out, and the others are restored', async (t) => {
  const { godwit, folder, leftovers } = await desk(t)
  const file = join(folder, 'a.tar.gz')
  await changed(archive, file, (all) =>
    all.filter(
      ({ path }) => path !== 'godwit-manifest.json' && !path.startsWith(`${SITE}/objects/`),
    ),
  )
  const { code, said } = await godwit(['restore', file, '--into', 'back'])
  assert.equal(code, 1, said)
  assert.match(said, /^not restored: alice\/site: /m)
  assert.deepEqual(readdirSync(join(folder, 'back/alice')), ['notes.git'])
  git(join(folder, 'back/alice/notes.git'), ['fsck', '--full', '--strict'])
  assert.deepEqual(await leftovers(), [])
})
