import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { type GitHost, gitHost } from '../../../../test/support/git-host.ts'
import { Unreadable } from '../../../git/src/unreadable.ts'
import type { RefQuery, Source } from '../source.ts'
import { gitDirectory } from './git-directory.ts'

const SITE = { owner: 'alice', name: 'site' }
const MIT = `MIT License

Copyright (c) 2020 Ada

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software
is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES
OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE
LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR
IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`

describe('the views of a repository', () => {
  let host: GitHost
  let source: Source

  beforeEach(async () => {
    host = await gitHost()
    source = gitDirectory({ root: host.root, git: host.godwitGit })
  })
  afterEach(() => host.remove())

  const signal = new AbortController().signal
  const refs = (query: Partial<RefQuery> = {}) =>
    source.refs(SITE, { kind: 'branches', offset: 0, limit: 100, ...query }, signal)
  const names = async (query: Partial<RefQuery> = {}) => {
    const page = await refs(query)
    return { total: page.total, names: page.refs.map(({ name }) => name) }
  }

  test('branches are listed by name, in pages, with their number', async () => {
    const dir = await host.repository('alice/site', { files: { a: '1' } })
    const head = await host.git(['rev-parse', 'HEAD'], { dir })
    for (const name of ['zebra', 'feature/a_b', 'über']) await host.git(['branch', name], { dir })
    const all = ['feature/a_b', 'main', 'zebra', 'über']
    assert.deepEqual(await names(), { total: 4, names: all })
    assert.deepEqual(await names({ offset: 1, limit: 2 }), { total: 4, names: all.slice(1, 3) })
    assert.deepEqual(await names({ offset: 4 }), { total: 4, names: [] })
    assert.deepEqual(await names({ only: 'main' }), { total: 1, names: ['main'] })
    assert.deepEqual(await names({ only: 'feature' }), { total: 0, names: [] })
    assert.deepEqual((await names({ except: 'main' })).total, 3)
    assert.deepEqual(new Set((await refs()).refs.map(({ commit }) => commit)), new Set([head]))
  })

  test('tags are listed with the newest version first, each with its commit, without tags of other objects', async () => {
    const dir = await host.repository('alice/site', { files: { a: '1' } })
    const head = await host.git(['rev-parse', 'HEAD'], { dir })
    const tag = (...args: string[]) => host.git(['tag', ...args], { dir })
    await tag('v1.9')
    await tag('-m', 'Ten', 'v1.10')
    await tag('-m', 'Again', 'v2', 'v1.10')
    await tag('blob', 'HEAD:a')
    await tag('-m', 'Of a blob', 'noted', 'HEAD:a')
    await tag('-m', 'Of a tag of a blob', 'twice', 'noted')
    const page = await refs({ kind: 'tags' })
    assert.deepEqual(
      page.refs,
      ['v2', 'v1.10', 'v1.9'].map((name) => ({ name, commit: head })),
    )
  })

  test('refs that are hidden from fetches are not listed', async () => {
    const config = {
      'transfer.hideRefs': ['refs/heads/secret', '!refs/heads/secret/known'],
      'uploadpack.hideRefs': 'refs/tags',
      'receive.hideRefs': 'refs/heads/main',
    }
    const dir = await host.repository('alice/site', { files: { a: '1' }, config })
    for (const name of ['secret/plan', 'secret/known', 'secrets'])
      await host.git(['branch', name], { dir })
    await host.git(['tag', 'v1'], { dir })
    assert.deepEqual((await names()).names, ['main', 'secret/known', 'secrets'])
    assert.deepEqual(await names({ kind: 'tags' }), { total: 0, names: [] })
  })

  test('languages are counted in bytes, the largest first', async () => {
    const files = { 'a.c': 'int a;\n'.repeat(10), 'b.py': 'b = 1\n', 'README.md': '# Read\n' }
    await host.repository('alice/site', { files })
    assert.deepEqual(Object.entries(await source.languages(SITE, signal)), [
      ['C', 70],
      ['Python', 6],
    ])
  })

  test('the licence file is the one with a known text, otherwise the likeliest by name', async () => {
    const files = { 'LICENSE.md': 'See COPYING.\n', COPYING: MIT, 'src/LICENSE': 'Not this one.\n' }
    await host.repository('alice/site', { files })
    const file = await source.licenseFile(SITE, signal)
    assert.deepEqual([file?.path, file?.license, String(file?.bytes)], ['COPYING', 'MIT', MIT])
    await host.push('alice/site', { COPYING: 'Ask me.\n' })
    const other = await source.licenseFile(SITE, signal)
    assert.deepEqual([other?.path, other?.license], ['LICENSE.md', null])
  })

  test('an empty repository has no refs, languages or licence', async () => {
    await host.repository('alice/site')
    assert.deepEqual(await refs(), { total: 0, refs: [] })
    assert.deepEqual(await source.languages(SITE, signal), {})
    assert.equal(await source.licenseFile(SITE, signal), undefined)
  })

  test('a damaged or missing repository is unreadable', async () => {
    await host.repository('alice/site', { files: { a: '1' } })
    await rm(join(host.path('alice/site'), 'objects'), { recursive: true })
    await assert.rejects(source.languages(SITE, signal), Unreadable)
    await rm(host.path('alice/site'), { recursive: true })
    await assert.rejects(refs(), Unreadable)
  })
})
