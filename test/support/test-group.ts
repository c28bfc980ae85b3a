import { relative } from 'node:path'
import { describe } from 'node:test'
import { fileURLToPath } from 'node:url'
// Imported before the test files, so that their hooks belong to the process and not to the first file.
import './process-end.ts'
import './show-on-failure.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs test files in this process, one after the other. Each file is a suite, so its hooks apply to its own tests only. */
export function runTestFiles(files: readonly string[]): void {
  for (const file of files) {
    describe(relative(ROOT, file), async () => {
      await import(file)
    })
  }
}
