import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, deflateRawSync } from 'node:zlib'
import type { Organization } from '../../../../archive/src/records/people.ts'
import { SegmentDamaged } from '../../../../archive/src/tar/copy-archive.ts'
import type { ByteRange } from '../../../../lib/src/bytes.ts'
import { openArchivedRecords } from './archived-records.ts'

test('a record that is damaged is reported as damage, even if it cannot be converted', async () => {
  const bytes = deflateRawSync('{"logim":"ann"}\n')
  const section = { kind: 'users', start: 0, end: bytes.length, count: 1, crc32: 0 }
  const metadata = { owner: { login: 'octo' }, name: 'tools' }
  const records = { rowsKey: 'rows', attachmentsKey: null, assetsKey: null }
  const opened = openArchivedRecords({
    blobs: { open: async () => [bytes] },
    contents: { of: async () => ({ forge: 'https://git.example.com', sections: [section] }) },
    repositories: [{ metadata, records }],
    signal: new AbortController().signal,
  } as unknown as Parameters<typeof openArchivedRecords>[0])
  await assert.rejects(opened, SegmentDamaged)
})

test('the login of each member is read once, however many members and repositories there are', async () => {
  const members = Array.from({ length: 50 }, (_, at) => ({ login: `user-${at}` }))
  const rows = [
    ['organizations', [{ login: 'octo', members }]],
    ['members', [...members, { login: 'stranger' }]],
  ] as const
  const blobs: Buffer[] = []
  const sections = rows.map(([kind, records]) => {
    const bytes = deflateRawSync(records.map((item) => `${JSON.stringify(item)}\n`).join(''))
    const start = Buffer.concat(blobs).length
    blobs.push(bytes)
    const crc = crc32(bytes)
    return { kind, start, end: start + bytes.length, count: records.length, crc32: crc }
  })
  const stored = Buffer.concat(blobs)
  let reads = 0
  const records = { rowsKey: 'rows', attachmentsKey: null, assetsKey: null }
  const opened = await openArchivedRecords({
    blobs: {
      open: async (_: string, { start, end }: ByteRange) => [stored.subarray(start, end)],
    },
    contents: { of: async () => ({ forge: 'https://git.example.com', sections }) },
    repositories: ['tools', 'site'].map((name) => ({
      metadata: { owner: { login: 'octo' }, name },
      records,
    })),
    maySeeMembers(organization: Organization) {
      for (const member of organization.members) {
        const { login } = member
        const get = () => {
          reads++
          return login
        }
        Object.defineProperty(member, 'login', { get })
      }
      return true
    },
    signal: new AbortController().signal,
  } as unknown as Parameters<typeof openArchivedRecords>[0])
  assert.equal(opened?.users.size, members.length)
  assert.equal(reads, 2 * members.length)
})
