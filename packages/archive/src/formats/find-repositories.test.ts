import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { initBare, temporaryDirectory } from '../../../../test/support/sample-repositories.ts'
import { findRepositories } from './find-repositories.ts'

test('finds repositories and their wikis, and refuses what only looks like one', async (t) => {
  const root = temporaryDirectory(t)
  const bare = ['alice/site.git', 'alice/site.wiki.git', 'alice/lone.wiki.git', 'alice/notes.git']
  for (const path of [...bare, 'top.git', 'alice/deep/down.git', 'alice/un named.git', 'bob'])
    initBare(join(root, path))
  await mkdir(join(root, 'alice/notes.wiki.git'))
  await writeFile(join(root, 'alice/file.git'), '')
  const [misplaced, none] = ['a repository must be at OWNER/NAME.git', 'not a bare git repository']
  const found = (fullName: string, wiki: { wikiDir?: string; wikiReason?: string }) => ({
    ...{ fullName, dir: join(root, `${fullName}.git`), wikiDir: undefined, wikiReason: undefined },
    ...wiki,
  })
  assert.deepEqual(await findRepositories(root), [
    { path: 'alice/deep/down.git', reason: misplaced },
    { path: 'alice/file.git', reason: none },
    found('alice/lone.wiki', {}),
    found('alice/notes', { wikiReason: none }),
    { path: 'alice/notes.wiki.git', reason: none },
    found('alice/site', { wikiDir: join(root, 'alice/site.wiki.git') }),
    {
      path: 'alice/un named.git',
      reason: 'its name has characters other than letters, digits, ".", "_" and "-"',
    },
    { path: 'bob', reason: misplaced },
    { path: 'top.git', reason: misplaced },
  ])
})
