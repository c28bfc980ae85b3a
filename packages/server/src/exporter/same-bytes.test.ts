import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { collect } from '../../../../test/support/archive-samples.ts'
import { type GitHost, gitHost } from '../../../../test/support/git-host.ts'
import { archiveOfHost } from '../../../../test/support/host-archive.ts'
import { createDatabase } from '../../../../test/support/postgres.ts'
import { MANIFEST_PATH } from '../../../archive/src/tar/manifest.ts'
import { readEntries } from '../../../archive/src/tar/read-entries.ts'

let host: GitHost

before(async () => {
  host = await gitHost()
  const site = await host.repository('alice/site', {
    files: { 'index.html': '<h1>Alice</h1>' },
    wiki: { 'Home.md': '# Home\n' },
    config: { 'godwit.topic': 'birds', 'godwit.collaborator': 'bob:admin' },
  })
  await mkdir(join(site, 'info'), { recursive: true })
  await writeFile(join(site, 'info/attributes'), '*.png binary\n')
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, n) => [`f${n}`, `${n}\n`.repeat(n)]),
  )
  const lender = await host.repository('alice/lender', { files: many })
  const borrower = await host.repository('octo/borrower', {
    config: { 'godwit.ownerType': 'Organization', 'receive.denyDeletes': 'true' },
  })
  await mkdir(join(borrower, 'objects/info'), { recursive: true })
  await writeFile(join(borrower, 'objects/info/alternates'), `${join(lender, 'objects')}\n`)
  const oid = (await host.git(['rev-parse', 'refs/heads/main'], { dir: lender })).trim()
  await host.git(['update-ref', 'refs/heads/main', oid], { dir: borrower })
  await writeFile(join(host.root, 'octo/godwit-members'), 'carol member\nbob owner\n')
  await host.repository('alice/empty')
})
after(() => host.remove())

const NOON = Date.UTC(2026, 4, 1, 12)
const guidIn = (tar: Buffer): string =>
  /"migration_guid": "([0-9a-f-]{36})"/.exec(tar.toString('latin1'))![1]!
const withGuid = (tar: Buffer, guid: string): Buffer =>
  Buffer.from(tar.toString('latin1').replace(guidIn(tar), guid), 'latin1')

test('the same repositories give the same bytes on both databases, except for the GUID', async () => {
  const now = () => NOON
  const first = gunzipSync(await archiveOfHost(host, { now }))
  const second = gunzipSync(await archiveOfHost(host, { now }))
  const third = gunzipSync(await archiveOfHost(host, { now, databaseUrl: await createDatabase() }))
  assert.notEqual(guidIn(first), guidIn(second))
  for (const again of [second, third]) assert.ok(withGuid(again, guidIn(first)).equals(first))
})

test('at another time only times differ', async () => {
  const entriesAt = async (at: number) => {
    let clock = at
    const archive = await archiveOfHost(host, { now: () => clock++ })
    const entries = new Map<string, { modifiedAt: number; content: Buffer }>()
    for await (const { path, modifiedAt, content } of readEntries([archive]))
      entries.set(path, { modifiedAt, content: await collect(content) })
    return entries
  }
  const first = await entriesAt(NOON)
  const second = await entriesAt(NOON + 5_000_000)
  assert.deepEqual([...second.keys()], [...first.keys()])
  for (const [path, { modifiedAt, content }] of first) {
    const again = second.get(path)!
    const isMetadata = !/^repositories\/[^/]+\/./.test(path)
    assert.equal(modifiedAt, isMetadata ? NOON : again.modifiedAt, path)
    if (isMetadata) assert.equal(again.modifiedAt, NOON + 5_000_000, path)
    if (path !== MANIFEST_PATH) assert.ok(again.content.equals(content), path)
  }
})

test('an account is as old as its oldest repository', async () => {
  const archive = await archiveOfHost(host, { now: () => NOON })
  const records: { url: string; created_at: string }[] = []
  for await (const { path, content } of readEntries([archive]))
    if (/^(?:users|organizations)_/.test(path))
      records.push(...JSON.parse(String(await collect(content))))
  assert.deepEqual(
    records.map(({ url, created_at }) => [url.split('/').at(-1), created_at]),
    [
      ['alice', '2020-01-02T03:04:05Z'],
      ['bob', '2020-01-02T03:04:05Z'],
      ['carol', '2020-01-02T03:04:05Z'],
      ['octo', '2020-01-02T03:04:05Z'],
    ],
  )
})
