import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { MIT, metadataScene } from '../../../../../test/support/metadata-scene.ts'
import type { SourceMetadata } from '../../source.ts'

const { host, nextName, metadataOf } = await metadataScene()
after(() => host.remove())

test('metadata in the section [godwit] takes precedence', async () => {
  const dir = await host.repository(nextName(), {
    files: { 'main.go': 'package main\n', LICENSE: MIT },
    description: 'derived',
    wiki: { 'Home.md': 'Hello' },
    config: {
      'gitweb.url': 'https://derived.example.com',
      'godwit.description': 'set\nby hand',
      'godwit.homepage': 'https://ada:secret@example.com',
      'godwit.private': 'off',
      'godwit.language': 'Cobol',
      'godwit.license': 'Zlib',
      'godwit.topic': ['Birds', 'api', 'birds', 'not a topic'],
      'godwit.archived': 'yes',
      'godwit.disabled': '0',
      'godwit.isTemplate': 'TRUE',
      'godwit.templateRepository': 'bob/base',
      'godwit.forkOf': 'carol/origin',
      'godwit.hasIssues': '1',
      'godwit.hasWiki': 'no',
      'godwit.allowMergeCommit': 'false',
      'godwit.deleteBranchOnMerge': 'on',
      'godwit.collaborator': ['bob:read', 'carol : admin', 'Bob:write', 'dan:owner', 'eve'],
    },
  })
  const expected = {
    description: 'set by hand',
    homepage: 'https://example.com/',
    private: false,
    language: 'Cobol',
    license: 'Zlib',
    topics: ['birds', 'api'],
    archived: true,
    disabled: false,
    isTemplate: true,
    templateRepository: 'bob/base',
    forkOf: 'carol/origin',
    hasIssues: true,
    hasWiki: false,
    allowMergeCommit: false,
    deleteBranchOnMerge: true,
    collaborators: [
      { login: 'Bob', permission: 'write' },
      { login: 'carol', permission: 'admin' },
    ],
    headCommit: null,
  } satisfies Partial<SourceMetadata>
  const metadata = await metadataOf(dir)
  assert.deepEqual({ ...metadata, ...expected }, metadata)

  await host.git(['config', '--remove-section', 'godwit'], { dir })
  const derived = await metadataOf(dir, metadata)
  assert.deepEqual([derived.language, derived.license], ['Go', 'MIT'])
  assert.equal(derived.hasWiki, true)
})

test('invalid values are ignored, but an invalid "private" makes a repository private', async () => {
  const dir = await host.repository(nextName(), {
    files: { 'main.go': 'package main\n' },
    public: true,
    config: {
      'godwit.private': 'ture',
      'godwit.archived': 'perhaps',
      'godwit.license': 'not an id',
      'godwit.homepage': 'javascript:alert(1)',
      'godwit.forkOf': '../../etc',
      'godwit.templateRepository': 'nobody',
    },
  })
  const metadata = await metadataOf(dir)
  assert.equal(metadata.private, true)
  assert.equal(metadata.archived, false)
  assert.deepEqual([metadata.license, metadata.homepage], [null, null])
  assert.deepEqual([metadata.forkOf, metadata.templateRepository], [null, null])
  assert.equal(metadata.language, 'Go')
})

test('issues and downloads that are turned off are distinguished from those that are not set', async () => {
  const turnedOff = async (config: Record<string, string>) =>
    (await metadataOf(await host.repository(nextName(), { config }))).turnedOff
  assert.equal(await turnedOff({}), undefined)
  assert.equal(await turnedOff({ 'godwit.hasIssues': 'yes', 'godwit.hasPages': 'no' }), undefined)
  assert.equal(await turnedOff({ 'godwit.hasIssues': 'perhaps' }), undefined)
  const both = { 'godwit.hasIssues': 'no', 'godwit.hasDownloads': '0' }
  assert.deepEqual(await turnedOff(both), ['hasIssues', 'hasDownloads'])
})

test('the pushes that the config refuses are part of the metadata', async () => {
  const denies = async (config: Record<string, string>) =>
    (await metadataOf(await host.repository(nextName(), { config }))).denies
  assert.equal(await denies({ 'receive.denyCurrentBranch': 'refuse' }), undefined)
  assert.equal(await denies({ 'receive.denyDeletes': 'off' }), undefined)
  assert.deepEqual(await denies({ 'receive.denyDeletes': 'on' }), ['deletes'])
  const both = { 'receive.denyDeletes': 'true', 'receive.denyNonFastForwards': '1' }
  assert.deepEqual(await denies(both), ['nonFastForwards', 'deletes'])
})

test('includes are not followed', async () => {
  const secret = join(host.root, '..', 'secret')
  await writeFile(secret, '[godwit]\n\tdescription = from elsewhere\n')
  const dir = await host.repository(nextName(), { config: { 'include.path': secret } })
  assert.equal((await metadataOf(dir)).description, '')
})
