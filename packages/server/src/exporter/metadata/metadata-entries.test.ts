import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonSize, measuredList, writeJson } from './metadata-entries.ts'

test('a list that is written item by item gives the same text as JSON.stringify, with the measured size', async () => {
  const manifest = {
    format: 4,
    generator: 'a "repositories": [] of names: größer',
    repositories: [
      {
        full_name: 'alice/site',
        refs: [{ name: 'refs/heads/ä\n', oid: '0' }],
        wiki: null,
        lfs: [],
      },
      { full_name: 'alice/blog', refs: [], files: [1, 2] },
    ],
    skipped: [],
    none: [],
    metadata: { files: [{ path: 'schema.json', size: 1 }] },
  }
  const seenItems: unknown[] = []
  const listOf = (items: readonly unknown[]) =>
    measuredList(
      async function* () {
        yield* items
      },
      (item) => seenItems.push(item),
    )
  const repositories = await listOf(manifest.repositories)
  const fields = Object.entries({ ...manifest, repositories, none: await listOf([]) })
  const written = Buffer.concat(await Array.fromAsync(writeJson(fields)))
  assert.equal(String(written), `${JSON.stringify(manifest, null, 2)}\n`)
  assert.equal(jsonSize(fields), written.length)
  assert.deepEqual(seenItems, manifest.repositories)
})
