import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { chmod, mkdir, open, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { looseObjectPath } from '../../../../test/support/loose-objects.ts'
import {
  commit,
  incompressible,
  initBare,
  makeWiki,
  onlyPack,
  packedHistory,
  git as plainGit,
  UNUSUAL_REPOSITORIES,
} from '../../../../test/support/sample-repositories.ts'
import { packedAndLooseScene, snapshotScene } from '../../../../test/support/snapshot-scene.ts'
import { Damaged } from '../files/repository-errors.ts'
import type { Git } from '../git.ts'
import type { Verified } from '../snapshot.ts'
import { verify } from './verify-snapshot.ts'

async function overwrite(path: string, at: number, change: (byte: number) => number) {
  await chmod(path, 0o644)
  const file = await open(path, 'r+')
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, at)
  await file.write(Buffer.from([change(buffer[0]!)]), 0, 1, at)
  await file.close()
}

async function replace(path: string, content: Uint8Array | string) {
  await rm(path)
  await writeFile(path, content)
}

test('a flipped bit in a packed blob is found where rev-list sees nothing', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const pack = onlyPack(dir)
  const index = plainGit(dir, ['verify-pack', '-v', pack])
  const [, offset] = /blob +\d+ \d+ (\d+)$/m.exec(index)!
  await overwrite(pack, Number(offset) + 20, (byte) => byte ^ 4)
  const { verified, bytes } = await check()
  assert.ok(typeof verified === 'object')
  assert.match(
    String(bytes),
    /^Ada\/Engine: objects\/pack\/pack-[0-9a-f]{40}\.pack: pack checksum mismatch$/,
  )
})

test('a truncated pack is named', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const pack = onlyPack(dir)
  for (const size of [2000, 10, 0]) {
    await chmod(pack, 0o644)
    await truncate(pack, size)
    const { verified, bytes } = await check()
    assert.match(
      String(verified),
      /^Ada\/Engine: .*(objects\/pack\/pack-|bad object|Could not read)/,
    )
    assert.match(String(bytes), /pack checksum mismatch$/)
  }
})

test('a damaged index, and one of another pack, are named', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const pack = onlyPack(dir)
  const index = pack.replace(/pack$/, 'idx')
  const whole = await readFile(index)
  await replace(index, Buffer.concat([whole.subarray(0, -1), Buffer.from([whole.at(-1)! ^ 1])]))
  assert.match(String((await check()).bytes), /\.idx: index checksum mismatch$/)
  const other = join(dir, '../other.git')
  initBare(other)
  packedHistory(other, 'refs/heads/main', 3)
  await replace(index, await readFile(onlyPack(other).replace(/pack$/, 'idx')))
  assert.match(String((await check()).bytes), /\.pack: packfile does not match index$/)
})

test('damaged loose objects are named, small or large', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const small = plainGit(dir, ['hash-object', '-w', '--stdin'], 'small')
  const large = plainGit(dir, ['hash-object', '-w', '--stdin'], incompressible(2_300_000))
  for (const oid of [small, large]) {
    const path = looseObjectPath(dir, oid)
    const whole = await readFile(path)
    const inner = `objects/${oid.slice(0, 2)}/${oid.slice(2)}`
    for (const [content, reason] of [
      [Buffer.alloc(0), 'object file is empty'],
      [whole.subarray(0, -9), 'inflate error'],
      [deflateSync('blob 5\0other'), 'hash mismatch'],
      [Buffer.concat([whole, Buffer.from('x')]), 'garbage at end of loose object'],
      [Buffer.concat([whole, Buffer.alloc(3_000_000)]), 'garbage at end of loose object'],
    ] as const) {
      await replace(path, content)
      assert.equal((await check()).bytes, `Ada/Engine: ${inner}: ${reason}`)
    }
    await replace(path, whole)
    assert.equal((await check()).bytes, undefined)
  }
})

test('an LFS object with other content is named', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const oid = `abcd${'0'.repeat(60)}`
  await mkdir(join(dir, 'lfs/objects/ab/cd'), { recursive: true })
  await writeFile(join(dir, 'lfs/objects/ab/cd', oid), 'other content')
  assert.equal(
    (await check()).bytes,
    `Ada/Engine: lfs/objects/ab/cd/${oid}: the content does not match its LFS oid`,
  )
})

test('an intact repository passes both checks', async (t) => {
  const { check } = packedAndLooseScene(t)
  const { verified, bytes } = await check()
  assert.equal(bytes, undefined)
  assert.ok(typeof verified === 'object')
  assert.equal(verified.repository.tips.length, 1)
  assert.equal(verified.repository.objectFiles.length, 5)
})

test('a missing loose blob is named', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const blob = plainGit(dir, ['rev-parse', 'main:file.txt'])
  await rm(looseObjectPath(dir, blob))
  assert.match(String((await check()).verified), new RegExp(`^Ada/Engine: .*missing blob.*${blob}`))
})

test('a missing packed blob is named', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const blob = plainGit(dir, ['rev-parse', 'main~5:dir/file-1.txt'])
  const others = plainGit(dir, ['rev-list', '--objects', '--all', '--no-object-names'])
    .split('\n')
    .filter((oid) => oid !== blob)
  plainGit(dir, ['pack-objects', '-q', join(dir, 'objects/new')], `${others.join('\n')}\n`)
  const made = readdirSync(join(dir, 'objects')).filter((name) => name.startsWith('new-'))
  await rm(join(dir, 'objects/pack'), { recursive: true })
  await mkdir(join(dir, 'objects/pack'))
  for (const name of made)
    await writeFile(
      join(dir, 'objects/pack', name.replace('new', 'pack')),
      await readFile(join(dir, 'objects', name)),
    )
  const { verified, bytes } = await check()
  assert.match(String(verified), new RegExp(`^Ada/Engine: .*missing blob.*${blob}`))
  assert.equal(bytes, undefined)
})

test('a commit that only a commit-graph has is reported as missing', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const lost = plainGit(dir, ['rev-parse', 'main'])
  commit(dir, 'refs/heads/main', 'on top')
  plainGit(dir, ['commit-graph', 'write', '--reachable'])
  await rm(looseObjectPath(dir, lost))
  plainGit(dir, ['rev-list', '--objects', '--all'])
  assert.match(String((await check()).verified), new RegExp(`^Ada/Engine: .*${lost}`))
})

test('a ref whose object is gone is reported', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const lost = plainGit(dir, ['rev-parse', 'main'])
  await rm(looseObjectPath(dir, lost))
  assert.match(String((await check()).verified), new RegExp(`^Ada/Engine: bad object ${lost}`))
})

test('a missing object behind a replace ref is reported', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const hidden = plainGit(dir, ['rev-parse', 'main'])
  const tree = plainGit(dir, ['rev-parse', 'main^{tree}'])
  const standIn = plainGit(dir, ['commit-tree', tree], 'stands in')
  commit(dir, 'refs/heads/main', 'on top')
  plainGit(dir, ['replace', hidden, standIn])
  await rm(looseObjectPath(dir, hidden))
  plainGit(dir, ['rev-list', '--objects', '--all'])
  assert.match(String((await check()).verified), new RegExp(`^Ada/Engine: .*${hidden}`))
})

test('an object that the other repository has lost is named', async (t) => {
  const { root, dir, take } = snapshotScene(t)
  UNUSUAL_REPOSITORIES['objects borrowed from another'](dir)
  await rm(`${dir}.lender/objects/pack`, { recursive: true })
  await assert.rejects(take(), (error: Error) => {
    assert.ok(error instanceof Damaged)
    assert.match(error.message, /^Ada\/Engine: .*bad object/)
    return !error.message.includes(root)
  })
})

test('a pack without its index counts as missing', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  await rm(onlyPack(dir).replace(/pack$/, 'idx'))
  assert.match(
    String((await check()).verified),
    /^Ada\/Engine: .*(Could not read|bad object|missing)/,
  )
})

test('a damaged wiki is named as the wiki', async (t) => {
  const { root, check } = packedAndLooseScene(t)
  const wikiDir = join(root, 'Ada/Engine.wiki.git')
  makeWiki(wikiDir)
  await rm(looseObjectPath(wikiDir, plainGit(wikiDir, ['rev-parse', 'main:file.txt'])))
  assert.match(String((await check({ wikiDir })).verified), /^Ada\/Engine\.wiki: /)
})

test('verified history is not walked again while all its files exist', async (t) => {
  const { dir, git, check } = packedAndLooseScene(t)
  const walks: string[] = []
  const watched: Git = {
    ...git,
    run: (args, call) => {
      if (args[0] === 'rev-list') walks.push(String(call?.input))
      return git.run(args, call)
    },
  }
  const again = async (last?: Verified) => {
    const { verified } = await check({ ...(last && { last }), runner: watched })
    assert.ok(typeof verified === 'object')
    return verified
  }
  const old = plainGit(dir, ['rev-parse', 'main'])
  const first = await again()
  await again(first)
  const tip = commit(dir, 'refs/heads/main', 'more')
  await again(first)
  plainGit(dir, ['repack', '-adq'])
  await again(first)
  assert.deepEqual(walks, [`${old}\n`, `${tip}\n^${old}\n`, `${tip}\n`])
})

test('a missing object is found when only new history is walked', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  const { verified: first } = await check()
  assert.ok(typeof first === 'object')
  commit(dir, 'refs/heads/main', 'more')
  await rm(looseObjectPath(dir, plainGit(dir, ['rev-parse', 'main:file.txt'])))
  assert.match(String((await check({ last: first })).verified), /missing blob/)
})

test('an aborted check rejects with its reason, not with damage', async (t) => {
  const { git, take } = packedAndLooseScene(t)
  const snapshot = await take()
  const reason = new Error('enough')
  await assert.rejects(verify(snapshot, git, AbortSignal.abort(reason)), reason)
})
