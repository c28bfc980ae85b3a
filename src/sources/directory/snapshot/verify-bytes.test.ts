import assert from 'node:assert/strict'
import { chmod, mkdir, open, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { looseObject } from '../../../../test/support/loose-objects.ts'
import {
  bare,
  incompressible,
  onlyPack,
  packedHistory,
  git as plainGit,
} from '../../../../test/support/odd-repositories.ts'
import { packedAndLoose } from './snapshot-test-scene.ts'

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
  const { dir, check } = packedAndLoose(t)
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
  const { dir, check } = packedAndLoose(t)
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
  const { dir, check } = packedAndLoose(t)
  const pack = onlyPack(dir)
  const index = pack.replace(/pack$/, 'idx')
  const whole = await readFile(index)
  await replace(index, Buffer.concat([whole.subarray(0, -1), Buffer.from([whole.at(-1)! ^ 1])]))
  assert.match(String((await check()).bytes), /\.idx: index checksum mismatch$/)
  const other = join(dir, '../other.git')
  bare(other)
  packedHistory(other, 'refs/heads/main', 3)
  await replace(index, await readFile(onlyPack(other).replace(/pack$/, 'idx')))
  assert.match(String((await check()).bytes), /\.pack: packfile does not match index$/)
})

test('damaged loose objects are named, small or large', async (t) => {
  const { dir, check } = packedAndLoose(t)
  const small = plainGit(dir, ['hash-object', '-w', '--stdin'], 'small')
  const large = plainGit(dir, ['hash-object', '-w', '--stdin'], incompressible(2_300_000))
  for (const oid of [small, large]) {
    const path = looseObject(dir, oid)
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
  const { dir, check } = packedAndLoose(t)
  const oid = `abcd${'0'.repeat(60)}`
  await mkdir(join(dir, 'lfs/objects/ab/cd'), { recursive: true })
  await writeFile(join(dir, 'lfs/objects/ab/cd', oid), 'other content')
  assert.equal(
    (await check()).bytes,
    `Ada/Engine: lfs/objects/ab/cd/${oid}: the content does not match its LFS oid`,
  )
})
