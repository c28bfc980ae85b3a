import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandLine, entriesIn } from '../support/command-line.ts'
import { gitHost } from '../support/git-host.ts'
import { commitZeros } from '../support/sample-repositories.ts'
import { untilEnded } from '../support/service.ts'
import { startSharedService } from '../support/start-shared-service.ts'

type Json = Record<string, unknown>

const CONTENT = 'a large file'
const OID = createHash('sha256').update(CONTENT).digest('hex')
const POINTER = `version https://git-lfs.github.com/spec/v1\noid sha256:${OID}\nsize ${CONTENT.length}\n`
const WARNING = `1 LFS object is missing: ${OID}`

test('missing LFS objects and files that importers reject are in preflight, progress and report, also when reused', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/large', { files: { 'a.bin': POINTER } })
  const plain = await host.repository('alice/plain', { files: { 'a.txt': 'a' } })
  const hex = await host.repository('alice/hex', { files: { 'a.txt': 'a' } })
  const branch = `refs/heads/${'c0ffee'.repeat(7).slice(0, 40)}`
  await writeFile(join(hex, branch), await readFile(join(plain, 'refs/heads/main')))
  const huge = await host.repository('alice/huge', { files: { 'a.txt': 'a' } })
  const large = commitZeros(huge, 'refs/pull/1/head', 'video.mp4', 101 * 2 ** 20)
  const tooLarge = `GitHub rejects files of more than 100 MiB after an import: video.mp4 in ${large} (106 MB)`
  const service = await startSharedService(t, { repositories: host.root })
  const alice = await service.token('alice')
  const request = async (path: string, body?: Json) => {
    const init = body ? { method: 'POST', body: JSON.stringify(body) } : {}
    return (await (await service.call(alice, path, init)).json()) as Json
  }
  const warnings = ({ repositories }: Json) =>
    (repositories as Json[]).map(({ full_name, warning }) => [full_name, warning])
  const expected = [
    ['alice/large', WARNING],
    ['alice/plain', null],
    ['alice/hex', `GitHub's importers refuse names of 40 hex digits: ${branch}`],
    ['alice/huge', tooLarge],
  ]
  const input = { repositories: ['large', 'plain', 'hex', 'huge'] }
  for (const id of [1, 2]) {
    assert.deepEqual(warnings(await request('/user/migrations/preflight', input)), expected)
    await request('/user/migrations', input)
    await untilEnded(service, alice, id)
    assert.deepEqual(warnings(await request(`/user/migrations/${id}/progress`)), expected)
    const report = await request(`/user/migrations/${id}/report`)
    assert.deepEqual(warnings(report), expected)
    const missing = (report.repositories as Json[]).map((each) => each.missing_lfs_objects)
    assert.deepEqual(missing, [1, 0, 0, 0])
    const { repositories } = await request(`/user/migrations/${id}/summary`)
    assert.partialDeepStrictEqual(repositories, { total: 4, exported: 4, incomplete: 1 })
  }
  const headers = { accept: 'text/plain' }
  const report = await service.call(alice, '/user/migrations/2/report', { headers })
  const text = await report.text()
  assert.match(text, /^Migration 2 .* was partly exported on /)
  assert.match(text, /4 exported \(4 of them reused, 1 with missing LFS objects\)/)
  assert.match(text, new RegExp(`reused +alice/large, .*; warning: ${WARNING}\n`))
  const { godwit } = await commandLine(t)
  const checked = await godwit(['check', 'alice/huge', '--repositories', host.root])
  assert.ok(checked.output.includes(`warning: alice/huge: ${tooLarge}\n`), checked.output)
})

test('export warns of missing LFS objects, and includes those of --lfs-directory', async (t) => {
  await using host = await gitHost()
  await host.repository('alice/large', { files: { 'a.bin': POINTER } })
  const { godwit, folder } = await commandLine(t)
  const exportTo = (file: string, ...more: string[]) => {
    const settings = ['--repositories', host.root, '--output', file, '--report', 'report.json']
    return godwit(['export', 'alice', ...settings, ...more])
  }
  const warned = await exportTo('a.tar.gz')
  assert.equal(warned.code, 0, warned.output)
  assert.ok(warned.output.includes(`alice/large: exported; warning: ${WARNING}`), warned.output)
  const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8')) as Json
  assert.equal(report.incomplete, 1)
  assert.partialDeepStrictEqual((report.repositories as Json[])[0], {
    warning: WARNING,
    missing_lfs_objects: 1,
  })

  const lacking = await godwit(['verify', 'a.tar.gz'])
  assert.equal(lacking.code, 0, lacking.output)
  const expected = `partial: alice/large: 1 LFS object was missing on the host when it was exported: ${OID}`
  assert.ok(lacking.output.includes(expected), lacking.output)
  assert.match(lacking.output, /is intact: 0 repositories verified, 1 with missing LFS objects$/m)
  assert.doesNotMatch(lacking.output, /^verified:/m)
  const shared = join(folder, 'lfs')
  await mkdir(join(shared, OID.slice(0, 2), OID.slice(2, 4)), { recursive: true })
  await writeFile(join(shared, OID.slice(0, 2), OID.slice(2, 4), OID.slice(4)), CONTENT)
  const complete = await exportTo('b.tar.gz', '--lfs-directory', shared)
  assert.equal(complete.code, 0, complete.output)
  assert.ok(!complete.output.includes('missing'), complete.output)
  const importers = "GitHub's importers do not take LFS objects: push 1 LFS object after the import"
  assert.ok(
    complete.output.includes(`alice/large: exported; warning: ${importers}`),
    complete.output,
  )
  const path = `repositories/alice/large.git/lfs/objects/${OID.slice(0, 2)}/${OID.slice(2, 4)}/${OID}`
  assert.ok((await entriesIn(join(folder, 'b.tar.gz'))).some((entry) => entry.path === path))
  const verified = await godwit(['verify', 'b.tar.gz'])
  assert.equal(verified.code, 0, verified.output)
  assert.ok(!verified.output.includes('note'), verified.output)
})
