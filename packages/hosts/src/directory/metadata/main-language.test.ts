import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { languageTableBeforeAndAfter } from '../../../../../scripts/language-table.ts'
import { languageCounter } from './main-language.ts'

async function mainLanguage(files: Record<string, number>): Promise<string | null> {
  const counter = languageCounter()
  for (const [path, bytes] of Object.entries(files)) counter.add(path, bytes)
  return counter.main()
}

describe('the main language of a repository', () => {
  test('is the one with the most bytes, not the most files', async () => {
    assert.equal(await mainLanguage({ 'a.py': 10, 'b.py': 10, 'c.go': 21 }), 'Go')
    assert.equal(await mainLanguage({ 'a.py': 11, 'b.py': 11, 'c.go': 21 }), 'Python')
  })

  test('is null for no files, only prose and data, or only empty files', async () => {
    assert.equal(await mainLanguage({}), null)
    const notes = { 'README.md': 9000, 'data.json': 9000, 'ci.yml': 9, 'schema.sql': 9, 'a.txt': 9 }
    assert.equal(await mainLanguage(notes), null)
    assert.equal(await mainLanguage({ ...notes, 'a.sh': 1 }), 'Shell')
    assert.equal(await mainLanguage({ 'a.py': 0 }), null)
  })

  test('does not count third-party code and documentation', async () => {
    const others = {
      'node_modules/react/index.js': 1000,
      'web/node_modules/x/y.js': 1000,
      'vendor/github.com/x/y.c': 1000,
      'lib/third_party/z.cc': 1000,
      'dist/bundle.js': 1000,
      'static/app.min.js': 1000,
      'static/jquery-3.7.js': 1000,
      'docs/index.html': 1000,
      '.github/scripts/a.sh': 1000,
      configure: 1000,
    }
    assert.equal(await mainLanguage(others), null)
    assert.equal(await mainLanguage({ ...others, 'main.rs': 1 }), 'Rust')
    assert.equal(await mainLanguage({ 'vendoring/a.go': 1, 'distance.go': 1 }), 'Go')
  })

  test('is found by file name or by extension, ignoring case; the longest extension wins', async () => {
    assert.equal(await mainLanguage({ Makefile: 5, 'deep/in/Dockerfile': 6 }), 'Dockerfile')
    assert.equal(await mainLanguage({ 'MAIN.PY': 1 }), 'Python')
    assert.equal(await mainLanguage({ 'view.html.erb': 5 }), 'HTML')
    assert.equal(await mainLanguage({ 'no-extension': 5, '.hidden': 5, 'trailing.': 5 }), null)
  })

  test('counts dialects as the language that they belong to', async () => {
    assert.equal(await mainLanguage({ 'a.tsx': 6, 'b.ts': 5, 'c.js': 10 }), 'TypeScript')
  })

  for (const [files, language] of [
    [{ 'a.h': 5 }, 'C'],
    [{ 'a.h': 500, 'a.cpp': 5 }, 'C++'],
    [{ 'a.h': 500, 'a.m': 5 }, 'Objective-C'],
    [{ 'a.h': 500, 'a.c': 5, 'b.cpp': 4 }, 'C'],
    [{ 'a.rs': 5 }, 'Rust'],
    [{ 'a.pl': 5, 't/a.t': 50 }, 'Perl'],
    [{ 'a.pl': 50, 'b.prolog': 5 }, 'Prolog'],
    [{ 'a.ts': 5 }, 'TypeScript'],
    [{ 'a.html': 5 }, 'HTML'],
    [{ 'a.php': 5 }, 'PHP'],
    [{ 'a.v': 5 }, 'Verilog'],
    [{ 'key.asc': 5 }, null],
  ] as const) {
    test(`an extension of several languages: ${Object.keys(files).join(', ')}`, async () => {
      assert.equal(await mainLanguage(files), language)
    })
  }
})

test('the table of languages is that of the installed package', async () => {
  const { before, after } = await languageTableBeforeAndAfter()
  assert.equal(before, after, 'run node scripts/language-table.ts')
})
