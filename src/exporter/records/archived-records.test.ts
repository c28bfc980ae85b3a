import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { SegmentDamaged } from '../../archive/copy-archive.ts'
import { ArchivedRecords } from './archived-records.ts'

test('a record that is damaged is reported as damage, even if it cannot be converted', async () => {
  const bytes = deflateRawSync('{"logim":"ann"}\n')
  const section = { kind: 'users', start: 0, end: bytes.length, count: 1, crc32: 0 }
  const facts = { owner: { login: 'octo' }, name: 'tools' }
  const records = { rowsKey: 'rows', attachmentsKey: null, assetsKey: null }
  const opened = ArchivedRecords.open({
    blobs: { open: async () => [bytes] },
    contents: { of: async () => ({ forge: 'https://git.example.com', sections: [section] }) },
    repositories: [{ facts, records }],
    signal: new AbortController().signal,
  } as unknown as Parameters<typeof ArchivedRecords.open>[0])
  await assert.rejects(opened, SegmentDamaged)
})
