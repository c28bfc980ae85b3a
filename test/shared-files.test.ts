import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
/** The only file that knows where the files are which are not part of the project. */
const HELPER = 'test/support/shared-files.ts'
/** What the support files that use it export, except the options that skip a test. */
const READS = [
  ...['REAL_ARCHIVE.file', 'GITLAB_2019', 'TREE_2020', 'unpackTree2020', 'loadRecordings'],
  ...['realRecords', 'exampleRecords', 'recordedPath', 'recordedResponse'],
]
const SKIPS = /\bneed(ed|sGitLab)\b/

const PATTERNS = [
  'packages/*/{src,test}/**/*.ts',
  'test/*.ts',
  'test/!(wire)/**/*.ts',
  'test/wire/*.ts',
  'bench/*.ts',
]
const texts = globSync(PATTERNS, { cwd: ROOT })
  .filter((file) => join(ROOT, file) !== import.meta.filename)
  .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const)

test('only one helper knows where the files are that are not part of the project', () => {
  assert.ok(texts.length > 500)
  const location = /\.\.\/shared\/(data|reference)|(\.\.\/){3}shared'/
  const files = texts.filter(([, text]) => location.test(text)).map(([file]) => file)
  assert.deepEqual(files, [HELPER])
})

test('every test that reads such a file is skipped by name without it', () => {
  const found = texts
    .filter(
      ([file, text]) => file.endsWith('.test.ts') && READS.some((name) => text.includes(name)),
    )
    .flatMap(([file, text]) => unguardedReads(text).map((line) => `${file}: ${line}`))
  assert.deepEqual(found, [])
  const guarded = `describe('a', REAL.needed, () => {\n  test('b', () => {\n    realRecords()\n  })\n})\n`
  assert.deepEqual(unguardedReads(guarded), [])
  assert.deepEqual(unguardedReads(guarded.replace('REAL.needed', '{}')), ['realRecords()'])
  const indirect = `function read() {\n  realRecords()\n}\ntest('c', () => {\n  read()\n})\n`
  assert.deepEqual(unguardedReads(indirect), ['read()'])
})

/** Returns the lines that read such a file in no test or group of tests with options that skip it. The format of the code is Biome's. */
function unguardedReads(text: string): string[] {
  const lines = text.replaceAll(/^import .*?'$/gms, '').split('\n')
  const names = [...READS]
  const found: string[] = []
  // A function of the file that reads one counts as one.
  for (const name of names) {
    const reads = new RegExp(`(?<![\\w.'])${RegExp.escape(name)}\\b`)
    for (const [index, line] of lines.entries()) {
      if (!reads.test(line) || /^\s*(\/?\*|\/\/)/.test(line)) continue
      const openers = enclosing(lines, index)
      const declared = /^(?:async )?(?:function|const) (\w+)/.exec(openers.at(-1) ?? '')?.[1]
      if (declared === undefined) {
        if (!SKIPS.test(openers.join('\n'))) found.push(line.trim())
      } else if (!names.includes(declared)) names.push(declared)
    }
  }
  return found
}

/** Returns the line and the heads of the blocks around it, from the inner to the outer one. A head may have several lines. */
function enclosing(lines: string[], index: number): string[] {
  const heads = [lines[index]!]
  let [depth, end] = [indentation(lines[index]!), index]
  for (let at = index - 1; at >= 0; at--) {
    const line = lines[at]!
    const isSecondHalf = /^\s*}, /.test(lines[end]!) && indentation(line) === depth
    if (line.trim() === '' || (indentation(line) >= depth && !isSecondHalf)) continue
    // The arguments of a call may be on lines of their own.
    if (isSecondHalf || line.endsWith('(')) heads.push(...lines.slice(at + 1, end))
    heads.push(line)
    depth = indentation(line)
    end = at
  }
  return heads
}

const indentation = (line: string): number => line.length - line.trimStart().length
