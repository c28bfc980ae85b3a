import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { checkGzip } from './formats/compare-manifest.ts'
import { ArchiveDamaged } from './tar/unreadable-archive.ts'

const { signal } = new AbortController()
const [first, second] = [gzipSync('hello '.repeat(1000)), gzipSync('world')]

test('every member of a gzip file is checked, for any chunk size', async () => {
  const whole = Buffer.concat([first, second])
  await checkGzip([first, second], signal)
  await checkGzip([whole], signal)
  await checkGzip([whole, Buffer.alloc(100)], signal)
  const wrong = Buffer.concat([second.subarray(0, -8), Buffer.alloc(8, 7)])
  for (const bad of [
    [first, wrong],
    [Buffer.concat([first, wrong])],
    [first, second.subarray(0, -3)],
    [first, Buffer.from('junk')],
    [Buffer.from('junk')],
    [],
  ])
    await assert.rejects(checkGzip(bad, signal), ArchiveDamaged)
})

test('an abort or an error of the stream is thrown as it is', async () => {
  const unplugged = new Error('unplugged')
  async function* failing() {
    yield first.subarray(0, 20)
    throw unplugged
  }
  await assert.rejects(checkGzip(failing(), signal), unplugged)
  await assert.rejects(checkGzip([first], AbortSignal.abort()), { name: 'AbortError' })
})
