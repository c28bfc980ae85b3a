import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { factsScene, MIT } from '../../../../test/support/facts-scene.ts'
import type { SourceFacts } from '../../source.ts'

const { host, nextName, factsOf } = await factsScene()
after(() => host.remove())

test('facts in the section [godwit] take precedence', async () => {
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
  } satisfies Partial<SourceFacts>
  const facts = await factsOf(dir)
  assert.deepEqual({ ...facts, ...expected }, facts)

  await host.git(['config', '--remove-section', 'godwit'], { dir })
  const derived = await factsOf(dir, facts)
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
  const facts = await factsOf(dir)
  assert.equal(facts.private, true)
  assert.equal(facts.archived, false)
  assert.deepEqual([facts.license, facts.homepage], [null, null])
  assert.deepEqual([facts.forkOf, facts.templateRepository], [null, null])
  assert.equal(facts.language, 'Go')
})

test('issues and downloads that are turned off are distinguished from those that are not set', async () => {
  const turnedOff = async (config: Record<string, string>) =>
    (await factsOf(await host.repository(nextName(), { config }))).turnedOff
  assert.equal(await turnedOff({}), undefined)
  assert.equal(await turnedOff({ 'godwit.hasIssues': 'yes', 'godwit.hasPages': 'no' }), undefined)
  assert.equal(await turnedOff({ 'godwit.hasIssues': 'perhaps' }), undefined)
  const both = { 'godwit.hasIssues': 'no', 'godwit.hasDownloads': '0' }
  assert.deepEqual(await turnedOff(both), ['hasIssues', 'hasDownloads'])
})

test('the pushes that the config refuses are a fact', async () => {
  const denies = async (config: Record<string, string>) =>
    (await factsOf(await host.repository(nextName(), { config }))).denies
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
  assert.equal((await factsOf(dir)).description, '')
})
