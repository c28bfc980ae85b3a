import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const ROOT = new URL('..', import.meta.url).pathname

test('no hook of a file asks for a context: in a whole run that is a suite’s, which has no end to hang things on', () => {
  const files = globSync('{src,test}/**/*.test.ts', {
    cwd: ROOT,
    exclude: (path) => path.includes('node_modules'),
  })
  assert.ok(files.length > 200)
  const asking = files.filter((file) =>
    /^before\((?:async )?\(\w/m.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  assert.deepEqual(asking, [], 'use forTheWholeFile() of test/support/whole-file-cleanup.ts')
})
