import { appendFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { relative } from 'node:path'
import { after, before, describe } from 'node:test'
import { fileURLToPath } from 'node:url'
// Imported before the test files, so that their hooks belong to the process and not to the first file.
import './process-end.ts'
import './show-on-failure.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs test files in this process, one after the other. Each file is a suite, so its hooks apply to its own tests only. */
export function runTestFiles(files: readonly string[]): void {
  for (const file of files) {
    describe(relative(ROOT, file), async () => {
      reportEnd(relative(ROOT, file))
      await import(file)
    })
  }
}

let isCacheWritten = false

/** Called in the suite of a test file: appends its end to the file of the whole run, if this is one (progress.ts). */
function reportEnd(file: string): void {
  const ended = process.env.GODWIT_TEST_PROGRESS
  if (ended === undefined) return
  let start = 0
  before(() => {
    start = performance.now()
  })
  after(() => {
    // Node would write it at the end of the process, and in a fresh checkout others compile the same code long before that.
    if (!isCacheWritten) flushCompileCache()
    isCacheWritten = true
    const seconds = (performance.now() - start) / 1000
    appendFileSync(ended, `${seconds.toFixed(1)} ${file}\n`)
  })
}
