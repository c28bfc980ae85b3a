import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  commit,
  git,
  initBare,
  onlyPack,
  packedHistory,
  temporaryDirectory,
} from '../../../../test/support/sample-repositories.ts'
import { packedAndLooseScene } from '../../../../test/support/snapshot-scene.ts'
import { openRegularFile } from '../files/regular-file.ts'
import { checkPack } from './check-pack.ts'

const FORMATS = { sha1: 20, sha256: 32 } as const

/** Corrects the checksum of a changed index, as an attacker would. */
function rewriteIndex(path: string, width: number, change: (index: Buffer) => Buffer | undefined) {
  const whole = readFileSync(path)
  const body = Buffer.from(whole.subarray(0, -width))
  const changed = change(body) ?? body
  const checksum = createHash(width === 20 ? 'sha1' : 'sha256')
    .update(changed)
    .digest()
  chmodSync(path, 0o644)
  writeFileSync(path, Buffer.concat([changed, checksum]))
}

/** Returns the positions of the tables of an index of version 2. */
function tablesOf(index: Buffer, width: number) {
  const count = index.readUInt32BE(8 + 255 * 4)
  const crcs = 8 + 1024 + count * width
  return { count, crcs, offsets: crcs + count * 4, large: crcs + count * 8 }
}

function swap(index: Buffer, a: number, b: number): void {
  const [first, second] = [index.readUInt32BE(a), index.readUInt32BE(b)]
  index.writeUInt32BE(second, a)
  index.writeUInt32BE(first, b)
}

function findMismatch(
  pack: string,
  width: number,
  { sectionBytes = 2 ** 30, step = 1000, onEntry = (_: Buffer) => {} } = {},
) {
  const bytes = readFileSync(pack)
  const index = openRegularFile(pack.replace(/pack$/, 'idx'))
  const size = statSync(pack).size
  using check = checkPack({ index, size, width, sectionBytes, onEntry })
  // Reuses the buffer, as the reader of a file does.
  const buffer = Buffer.alloc(step)
  for (let at = 0; at < size; at += step) {
    const length = bytes.copy(buffer, 0, at)
    check.add(buffer.subarray(0, length))
  }
  return check.findMismatch(bytes.subarray(-width))
}

for (const [format, width] of Object.entries(FORMATS))
  for (const version of [1, 2])
    test(`a correct index of version ${version} agrees with its ${format} pack`, async (t) => {
      const dir = join(temporaryDirectory(t), 'a.git')
      initBare(dir, format)
      packedHistory(dir, 'refs/heads/main', 40)
      git(dir, ['-c', `pack.indexVersion=${version}`, 'repack', '-adfq'])
      const pack = onlyPack(dir)
      for (const step of [1, 13, 1000, 1_000_000])
        assert.equal(findMismatch(pack, width, { step }), undefined)
      for (const sectionBytes of [1, 100, 5000])
        assert.equal(findMismatch(pack, width, { sectionBytes }), undefined)
      let [entries, bytes] = [0, 0]
      const onEntry = (entry: Buffer) => {
        entries += 1
        bytes += entry.length
      }
      findMismatch(pack, width, { onEntry, step: 7 })
      const all = git(dir, ['count-objects', '-v'])
      assert.equal(entries, Number(/in-pack: (\d+)/.exec(all)?.[1]))
      assert.equal(bytes, statSync(pack).size - 12 - width)
    })

test('every kind of wrong index is reported', async (t) => {
  const dir = join(temporaryDirectory(t), 'a.git')
  initBare(dir)
  packedHistory(dir, 'refs/heads/main', 40)
  const pack = onlyPack(dir)
  const path = pack.replace(/pack$/, 'idx')
  // Git makes it read-only, for everybody but root.
  chmodSync(path, 0o644)
  const valid = readFileSync(path)
  const defects: [damage: (index: Buffer) => Buffer | undefined, expected: RegExp][] = [
    [
      (index) => void swap(index, tablesOf(index, 20).offsets, tablesOf(index, 20).offsets + 4),
      /another CRC-32 for the object at offset \d+$/,
    ],
    [
      (index) => void swap(index, tablesOf(index, 20).crcs, tablesOf(index, 20).crcs + 4),
      /another CRC-32/,
    ],
    [
      (index) => {
        const { offsets } = tablesOf(index, 20)
        index.writeUInt32BE(index.readUInt32BE(offsets + 4), offsets)
      },
      /wrong end|another CRC-32|no object/,
    ],
    [
      (index) => void index.writeUInt32BE(0x7fffffff, tablesOf(index, 20).offsets),
      /another CRC-32|no object|wrong end/,
    ],
    [
      (index) => void index.writeUInt32BE(0x80000005, tablesOf(index, 20).offsets),
      /names an offset that it does not have/,
    ],
    [(index) => index.subarray(0, 700), /too short/],
    [(index) => Buffer.concat([index, Buffer.alloc(4)]), /size of the index/],
    [(index) => void index.writeUInt32BE(3, 4), /unknown version/],
  ]
  for (const [damage, expected] of defects) {
    writeFileSync(path, valid)
    rewriteIndex(path, 20, damage)
    assert.match(String(findMismatch(pack, 20)), expected)
  }
})

test('offsets in the table of large offsets are read', async (t) => {
  const dir = join(temporaryDirectory(t), 'a.git')
  initBare(dir)
  packedHistory(dir, 'refs/heads/main', 5)
  const pack = onlyPack(dir)
  rewriteIndex(pack.replace(/pack$/, 'idx'), 20, (index) => {
    const { offsets, large } = tablesOf(index, 20)
    const far = Buffer.alloc(8)
    far.writeUInt32BE(index.readUInt32BE(offsets), 4)
    index.writeUInt32BE(0x80000000, offsets)
    return Buffer.concat([index.subarray(0, large), far, index.subarray(large)])
  })
  assert.equal(findMismatch(pack, 20), undefined)
})

/** Two blobs of the same size, which differ only in their content. */
async function withSwappedBlobs(dir: string): Promise<void> {
  const lines = git(dir, ['verify-pack', '-v', onlyPack(dir)]).split('\n')
  const blobs = lines.filter((line) => /^[0-9a-f]{40} blob /.test(line)).slice(0, 2)
  rewriteIndex(onlyPack(dir).replace(/pack$/, 'idx'), 20, (index) => {
    const { count, offsets } = tablesOf(index, 20)
    const positions = blobs.map((line) => {
      const oid = Buffer.from(line.slice(0, 40), 'hex')
      for (let i = 0; i < count; i++)
        if (index.subarray(1032 + i * 20, 1052 + i * 20).equals(oid)) return offsets + i * 4
      throw new Error(`no ${line}`)
    })
    swap(index, positions[0]!, positions[1]!)
    return index
  })
}

test('a repository whose index has swapped offsets is damaged', async (t) => {
  const { dir, check } = packedAndLooseScene(t)
  await withSwappedBlobs(dir)
  const { verified, bytes } = await check()
  // rev-list reads nothing that is wrong.
  assert.ok(typeof verified === 'object')
  assert.match(
    String(bytes),
    /^Ada\/Engine: objects\/pack\/pack-[0-9a-f]{40}\.pack: the index has another CRC-32 for the object at offset \d+$/,
  )
})

test('a repository that borrows through a wrong index is damaged', async (t) => {
  const { root, dir, take } = packedAndLooseScene(t)
  const fork = join(root, 'source/Ada/Fork.git')
  initBare(fork)
  writeFileSync(join(fork, 'objects/info/alternates'), `${join(dir, 'objects')}\n`)
  const tip = git(dir, ['rev-parse', 'refs/heads/main'])
  git(fork, ['update-ref', 'refs/heads/main', tip])
  commit(fork, 'refs/heads/own', 'its own')
  const location = { dir: fork, fullName: 'Ada/Fork' }
  await (await take(location)).remove()
  await withSwappedBlobs(dir)
  await assert.rejects(take(location), (error: Error) => {
    assert.equal(error.name, 'Damaged')
    assert.match(error.message, /^Ada\/Fork: bad packed object CRC for [0-9a-f]{40}/)
    return true
  })
})
