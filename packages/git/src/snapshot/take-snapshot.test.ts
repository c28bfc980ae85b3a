import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cp, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { looseObjects } from '../../../../test/support/loose-objects.ts'
import {
  commit,
  incompressible,
  initBare,
  makeWiki,
  git as plainGit,
  UNUSUAL_REPOSITORIES,
} from '../../../../test/support/sample-repositories.ts'
import { needsMount, smallDisk } from '../../../../test/support/small-disk.ts'
import { signal, snapshotScene } from '../../../../test/support/snapshot-scene.ts'
import { describeDiskFailure } from '../../../lib/src/disk-errors.ts'
import type { SnapshotEntry } from '../snapshot.ts'
import { takeSnapshot } from './take-snapshot.ts'
import { verify } from './verify-snapshot.ts'

const refsOf = (dir: string) =>
  plainGit(dir, ['for-each-ref', '--format=%(refname) %(objectname) %(objecttype) %(symref)'])

for (const [kind, make] of Object.entries(UNUSUAL_REPOSITORIES))
  test(`${kind} is exported completely`, async (t) => {
    const here = snapshotScene(t)
    make(here.dir)
    const copy = join(await here.writeOut(), 'Engine.git')
    plainGit(copy, ['fsck', '--full', '--strict'])
    assert.equal(refsOf(copy), refsOf(here.dir))
    assert.equal(
      readFileSync(join(copy, 'HEAD'), 'utf8'),
      readFileSync(join(here.dir, 'HEAD'), 'utf8'),
    )
    for (const name of ['hooks', 'objects/info/alternates', 'objects/info/commit-graph'])
      assert.ok(!existsSync(join(copy, name)), name)
    assert.deepEqual(here.leftovers(), [])
  })

for (const format of ['sha1', 'sha256'])
  test(`small loose objects of ${format} become packs; large and unusual ones stay`, async (t) => {
    const here = snapshotScene(t)
    initBare(here.dir, format)
    commit(here.dir, 'refs/heads/main', 'small')
    plainGit(here.dir, ['tag', '-a', '-m', 'annotated', 'v1', 'main'])
    const store = (...args: string[]) => ['hash-object', '-w', '--stdin', ...args]
    const large = plainGit(here.dir, store(), incompressible(100_000))
    const unusual = plainGit(here.dir, store('-t', 'own', '--literally'), 'of no known type')
    // More than one pack can hold.
    const text = incompressible(60_000)
    const blobs = Array.from({ length: 200 }, (_, at) => text.slice(at))
    const input = blobs.map((blob) => `blob\ndata ${blob.length}\n${blob}\n`).join('')
    plainGit(here.dir, ['-c', 'fastimport.unpackLimit=1000', 'fast-import', '--quiet'], input)
    const copy = join(await here.writeOut(), 'Engine.git')
    const names = ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']
    assert.equal(plainGit(copy, names), plainGit(here.dir, names))
    for (const name of readdirSync(join(copy, 'objects/pack')))
      if (name.endsWith('.idx')) plainGit(copy, ['verify-pack', join(copy, 'objects/pack', name)])
    const paths = readdirSync(join(copy, 'objects'), { recursive: true }).map(String)
    assert.equal(paths.filter((path) => path.endsWith('.pack')).length, 2)
    assert.deepEqual(
      paths.filter((path) => /^..\/[0-9a-f]+$/.test(path)).sort(),
      [large, unusual].map((oid) => `${oid.slice(0, 2)}/${oid.slice(2)}`).sort(),
    )
  })

test('loose objects are packed with their content, however git has compressed them', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  const manual = readFileSync(join(import.meta.dirname, '../../../../docs/OPERATIONS.md'), 'utf8')
  for (const level of [0, 1, 6, 9]) {
    const files = [200, 900, 3000, 50_000].flatMap((length, at) => {
      const start = 100 * level + 10 * at
      // The second one repeats the header of the object.
      const texts = [manual.slice(start, start + length), `blob ${length}`.repeat(length / 8)]
      return texts.map((text, n) => {
        const file = join(here.root, `${level}-${length}-${n}`)
        writeFileSync(file, text)
        return file
      })
    })
    const command = ['hash-object', '-w', '--no-filters', '--stdin-paths']
    const config = ['-c', `core.looseCompression=${level}`]
    plainGit(here.dir, [...config, ...command], files.join('\n'))
  }
  const copy = join(await here.writeOut(), 'Engine.git')
  plainGit(copy, ['fsck', '--full', '--strict'])
  const contents = ['cat-file', '--batch-all-objects', '--batch']
  assert.equal(plainGit(copy, contents), plainGit(here.dir, contents))
  assert.deepEqual(
    readdirSync(join(copy, 'objects')).filter((name) => name.length === 2),
    [],
  )
})

test('an error for packs that do not fit on the disk has their path', needsMount, async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  const { writeBlob } = looseObjects(here.dir)
  for (let at = 0; at < 30; at++) writeBlob(`${at}${incompressible(50_000)}`)
  const { path } = smallDisk(t, 1)
  const take = takeSnapshot(await here.examineRepository(), path, { git: here.git, signal })
  await assert.rejects(take, (error) => {
    assert.match(
      describeDiskFailure(error) ?? '',
      /^cannot write \S+\.pack: no space left .* needed/,
    )
    return true
  })
  assert.deepEqual(readdirSync(path), [])
})

test('names of refs whose last byte is a space in other encodings are exported completely', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  for (const ref of ['refs/heads/voilà', 'refs/tags/Š', 'refs/heads/删除'])
    commit(here.dir, ref, ref)
  plainGit(here.dir, ['symbolic-ref', 'HEAD', 'refs/heads/voilà'])
  plainGit(here.dir, ['symbolic-ref', 'refs/heads/alias', 'refs/heads/voilà'])
  for (const refs of ['loose', 'packed']) {
    if (refs === 'packed') plainGit(here.dir, ['pack-refs', '--all'])
    const copy = join(await here.writeOut({}, join(here.root, refs)), 'Engine.git')
    assert.equal(refsOf(copy), refsOf(here.dir))
    assert.equal(readFileSync(join(copy, 'HEAD'), 'utf8'), 'ref: refs/heads/voilà\n')
  }
})

test('a symbolic ref with very many spaces is reported at once', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  await writeFile(join(here.dir, 'refs/heads/long'), `ref: refs/heads/a${' '.repeat(1e6)}b`)
  await assert.rejects(here.examineRepository(), /refs\/heads\/long points to no object/)
})

test('a repository over which its archive was extracted has every file once', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  commit(here.dir, 'refs/heads/main', 'loose')
  const copy = join(await here.writeOut(), 'Engine.git')
  await cp(join(copy, 'objects/pack'), join(here.dir, 'objects/pack'), { recursive: true })
  const snapshot = await here.take()
  const paths = snapshot.repository.files.map(({ path }) => path)
  assert.deepEqual(paths, [...new Set(paths)])
  assert.equal(paths.filter((path) => path.endsWith('.pack')).length, 1)
  await snapshot.remove()
})

test('only objects that the refs reach are taken from the other repository', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['objects borrowed from another'](here.dir)
  plainGit(here.dir, ['hash-object', '-w', '--stdin'], 'reached by no ref')
  const secret = plainGit(`${here.dir}.lender`, ['rev-parse', 'refs/heads/private'])
  assert.equal(plainGit(here.dir, ['cat-file', '-t', secret]), 'commit')
  const copy = join(await here.writeOut(), 'Engine.git')
  assert.throws(() => plainGit(copy, ['cat-file', '-e', secret]))
  const reached = plainGit(here.dir, ['rev-list', '--objects', '--all', '--no-object-names'])
  const held = plainGit(copy, ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)'])
  assert.deepEqual(held.split('\n').sort(), reached.split('\n').sort())
})

test('a chain of relative alternates is followed', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['objects borrowed from another'](here.dir)
  const fork = join(here.root, 'source/Ada/Fork.git')
  initBare(fork)
  await writeFile(join(fork, 'objects/info/alternates'), '../../Engine.git/objects\n')
  await writeFile(
    join(here.dir, 'objects/info/alternates'),
    '# the lender\n../../Engine.git.lender/objects\n',
  )
  plainGit(fork, ['update-ref', 'refs/heads/main', plainGit(here.dir, ['rev-parse', 'main'])])
  const to = await here.writeOut({ dir: fork, fullName: 'Ada/Fork' })
  plainGit(join(to, 'Fork.git'), ['fsck', '--full', '--strict'])
})

test('a snapshot of a borrower stands alone', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['objects borrowed from another'](here.dir)
  const snapshot = await here.take()
  assert.ok(!existsSync(join(snapshot.repository.dir, 'objects/info/alternates')))
  await rm(join(here.root, 'source'), { recursive: true })
  await verify(snapshot, here.git, signal)
})

test('only objects that the refs reach are taken from behind symbolic links', async (t) => {
  const whole = 'objects'
  for (const [number, linked] of [whole, 'objects/pack', 'each file'].entries()) {
    const here = snapshotScene(t)
    UNUSUAL_REPOSITORIES['packed and loose objects'](here.dir)
    const secret = commit(here.dir, 'refs/heads/secret', 'of the owner of the objects')
    plainGit(here.dir, ['repack', '-adq'])
    plainGit(here.dir, ['update-ref', '-d', 'refs/heads/secret'])
    const from = join(here.dir, linked === whole ? whole : 'objects/pack')
    const elsewhere = join(here.root, `elsewhere-${number}`)
    await rename(from, elsewhere)
    if (linked !== 'each file') await symlink(elsewhere, from)
    else {
      await mkdir(from)
      for (const name of readdirSync(elsewhere))
        await symlink(join(elsewhere, name), join(from, name))
    }
    const to = await here.writeOut()
    await rm(elsewhere, { recursive: true })
    plainGit(join(to, 'Engine.git'), ['fsck', '--full', '--strict'])
    assert.throws(() => plainGit(join(to, 'Engine.git'), ['cat-file', '-e', secret]), linked)
  }
})

test('the wiki is included, with names, and without the config of the host', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  commit(here.dir, 'refs/heads/main', 'one')
  await writeFile(join(here.dir, 'description'), 'Analytical\n')
  plainGit(here.dir, ['config', 'http.extraHeader', 'Authorization: secret'])
  const wikiDir = here.dir.replace('.git', '.wiki.git')
  makeWiki(wikiDir)
  const to = await here.writeOut({ wikiDir })
  plainGit(join(to, 'Engine.wiki.git'), ['fsck', '--full', '--strict'])
  assert.equal(refsOf(join(to, 'Engine.wiki.git')), refsOf(wikiDir))
  const text = (path: string) => readFileSync(join(to, path), 'utf8')
  assert.equal(text('Engine.git/info/nwo'), 'Ada/Engine')
  assert.equal(text('Engine.wiki.git/info/nwo'), 'Ada/Engine.wiki')
  assert.equal(text('Engine.git/description'), 'Analytical\n')
  assert.doesNotMatch(text('Engine.git/config'), /secret/)
})

test('the config is as github.com writes it, with a mirror as origin whose URL can be changed', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  commit(here.dir, 'refs/heads/main', 'one')
  const wikiDir = here.dir.replace('.git', '.wiki.git')
  makeWiki(wikiDir)
  const origin = 'https://git.example.test/Ada/Engine.git'
  const wikiOrigin = 'https://git.example.test/Ada/Engine.wiki.git'
  const to = await here.writeOut({ wikiDir, origin, wikiOrigin })
  assert.equal(
    readFileSync(join(to, 'Engine.git/config'), 'utf8'),
    [
      '[core]',
      '\trepositoryformatversion = 0',
      '\tfilemode = true',
      '\tbare = true',
      '[remote "origin"]',
      `\turl = ${origin}`,
      '\tfetch = +refs/*:refs/*',
      '\tmirror = true',
      '',
    ].join('\n'),
  )
  const copy = join(to, 'Engine.git')
  assert.equal(plainGit(join(to, 'Engine.wiki.git'), ['remote', 'get-url', 'origin']), wikiOrigin)
  plainGit(copy, ['remote', 'set-url', 'origin', 'https://elsewhere.example.test/x.git'])
  assert.equal(
    plainGit(copy, ['remote', 'get-url', 'origin']),
    'https://elsewhere.example.test/x.git',
  )
})

test('a URL with characters that are special in a config is read back unchanged', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  const origin = 'https://git.example.test/a;b/"c"/\\d#e'
  const to = await here.writeOut({ origin })
  assert.equal(plainGit(join(to, 'Engine.git'), ['config', 'remote.origin.url']), origin)
})

test('info/last-sync is the time of the newest commit, and absent without commits', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  const empty = await here.writeOut(undefined, join(here.root, 'empty'))
  assert.ok(!existsSync(join(empty, 'Engine.git/info/last-sync')))
  commit(here.dir, 'refs/heads/main', 'one')
  commit(here.dir, 'refs/heads/other', 'two')
  const to = await here.writeOut()
  const newest = plainGit(here.dir, ['log', '--all', '-1', '--format=%ct'])
  assert.equal(readFileSync(join(to, 'Engine.git/info/last-sync'), 'utf8'), newest)
})

test('denied pushes and attributes are preserved; settings that name a program are not', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  commit(here.dir, 'refs/heads/main', 'one')
  for (const [key, value] of [
    ['receive.denyDeletes', 'yes'],
    ['receive.denyNonFastForwards', '1'],
    ['receive.denyCurrentBranch', 'updateInstead'],
    ['receive.hideRefs', 'refs/'],
    ['filter.evil.smudge', 'touch /tmp/evil'],
    ['core.fsmonitor', 'touch /tmp/evil'],
  ] as const)
    plainGit(here.dir, ['config', key, value])
  const attributes = '*.bin filter=evil\n*.txt text \u{e9}\n'
  await mkdir(join(here.dir, 'info'), { recursive: true })
  await writeFile(join(here.dir, 'info/attributes'), attributes)
  const copy = join(await here.writeOut(), 'Engine.git')
  assert.equal(readFileSync(join(copy, 'info/attributes'), 'utf8'), attributes)
  const listed = plainGit(copy, ['config', '--file', join(copy, 'config'), '--list'])
  assert.deepEqual(listed.split('\n').slice(3).sort(), [
    'receive.denydeletes=true',
    'receive.denynonfastforwards=true',
  ])
})

test('attributes behind a link are not exported, but the repository is', async (t) => {
  const here = snapshotScene(t)
  initBare(here.dir)
  commit(here.dir, 'refs/heads/main', 'one')
  const elsewhere = join(here.root, 'elsewhere')
  await writeFile(elsewhere, 'of somebody else')
  await mkdir(join(here.dir, 'info'), { recursive: true })
  await symlink(elsewhere, join(here.dir, 'info/attributes'))
  const copy = join(await here.writeOut(), 'Engine.git')
  assert.ok(!existsSync(join(copy, 'info/attributes')))
})

test('LFS objects are where git-lfs expects them, without unfinished ones', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['LFS objects'](here.dir)
  const to = await here.writeOut()
  const files = readdirSync(join(to, 'Engine.git/lfs'), { recursive: true, encoding: 'utf8' })
  assert.equal(files.filter((path) => /^objects\/..\/..\/[0-9a-f]{64}$/.test(path)).length, 1)
  assert.ok(!files.some((path) => path.includes('half-done')))
})

test('quarantined and temporary files are not exported', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['packed and loose objects'](here.dir)
  const leftovers = [
    'incoming-a1b2c3/12/34567890123456789012345678901234567890',
    'tmp_objdir-incoming-x/pack/pack-1.pack',
    'pack/tmp_pack_a1b2c3',
    'pack/.tmp-17-pack-1234.pack',
    'pack/.tmp-17-pack-1234.idx',
    `pack/pack-${'a'.repeat(40)}.pack`,
    '00/tmp_obj_a1b2c3',
  ]
  for (const path of leftovers) {
    await mkdir(dirname(join(here.dir, 'objects', path)), { recursive: true })
    await writeFile(join(here.dir, 'objects', path), 'unfinished')
  }
  const to = await here.writeOut()
  for (const path of leftovers) assert.ok(!existsSync(join(to, 'Engine.git/objects', path)), path)
})

test('the same content gives the same entries', async (t) => {
  const here = snapshotScene(t)
  UNUSUAL_REPOSITORIES['packed and loose objects'](here.dir)
  const list = async () => {
    const snapshot = await here.take()
    const entries: Omit<SnapshotEntry, 'open'>[] = []
    for await (const { open: _, ...entry } of snapshot.entries()) entries.push(entry)
    await snapshot.remove()
    return entries
  }
  const first = await list()
  assert.deepEqual(await list(), first)
  const kinds = first.map(({ kind }) => kind)
  assert.ok(kinds.lastIndexOf('directory') < kinds.indexOf('file'))
  assert.ok(first.some(({ path, packed }) => packed && path.endsWith('.pack')))
})
