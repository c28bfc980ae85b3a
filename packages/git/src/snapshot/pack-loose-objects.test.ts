import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { type CopiedFile, packLooseObjects } from './pack-loose-objects.ts'

test('a pack has the same bytes, whatever was packed before', async () => {
  const files = Array.from({ length: 400 }, (_, number) => looseBlob(textOf(number)))
  const names: string[][] = []
  for (const order of [files, files.toReversed(), files])
    names.push((await Array.fromAsync(order, packName)).sort())
  assert.deepEqual(names[1], names[0])
  assert.deepEqual(names[2], names[0])
})

const TEXT = readFileSync(join(import.meta.dirname, '../../../../docs/OPERATIONS.md'), 'utf8')

/** Returns some kilobytes of English. */
function textOf(number: number): string {
  const start = (number * 97) % (TEXT.length - 5000)
  return TEXT.slice(start, start + 1500 + ((number * 37) % 3000))
}

function looseBlob(text: string): CopiedFile {
  const content = Buffer.from(`blob ${Buffer.byteLength(text)}\0${text}`)
  const oid = hash('sha1', content)
  const bytes = deflateSync(content)
  const path = `objects/${oid.slice(0, 2)}/${oid.slice(2)}`
  return { path, from: path, size: bytes.length, bytes }
}

async function packName(file: CopiedFile): Promise<string> {
  const found = { dir: '', name: 'alice/site', objectFormat: 'sha1', objectFiles: [file] } as const
  const others: CopiedFile[] = []
  const { signal } = new AbortController()
  const [pack] = await Array.fromAsync(packLooseObjects(found, others, signal))
  assert.deepEqual(others, [])
  return pack!.path
}
