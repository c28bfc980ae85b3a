import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PlainEntry, packEntries } from '../../../../test/support/command-line.ts'
import { validateEntries } from './unpack-archive.ts'

const fileEntry = (path: string): PlainEntry => ({ path, kind: 'file', content: Buffer.from('a') })
const three = packEntries(
  ['a', 'b', 'c'].map((name) => fileEntry(`attachments/${name.repeat(88)}`)),
)

async function pathsWithin(limits: { entries: number; characters: number }): Promise<number> {
  const room = { bytes: Infinity, where: '' }
  const { signal } = new AbortController()
  return (await Array.fromAsync(validateEntries([three], room, signal, limits))).length
}

test('the number and length of paths are limited', async () => {
  assert.equal(await pathsWithin({ entries: 4, characters: 300 }), 3)
  await assert.rejects(
    pathsWithin({ entries: 4, characters: 299 }),
    /the paths in it have more than 299 characters/,
  )
  await assert.rejects(pathsWithin({ entries: 3, characters: 300 }), /it has more than 3 entries/)
})

test('an archive is refused if it would not fit on the disk, with a block for each file and its entry', async () => {
  const { signal } = new AbortController()
  const unpacked = (bytes: number) =>
    Array.fromAsync(validateEntries([three], { bytes, where: '/backup' }, signal))
  assert.equal((await unpacked(3 * 2 * 4096)).length, 3)
  await assert.rejects(
    unpacked(3 * 2 * 4096 - 1),
    /up to attachments\/c+ it unpacks to 24576 bytes, and \/backup has space for 24575/,
  )
})
