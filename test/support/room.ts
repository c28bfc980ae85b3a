import { relative } from 'node:path'
import { before, describe } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stopFollowingPromises } from './followed-promises.ts'
// Before any of the files: its hook is for the end of the process, not of the first of them.
import './process-end.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** Runs test files in this process, one after the other, each as a suite whose hooks are its own. */
export function room(files: readonly string[]): void {
  for (const file of files) {
    describe(relative(ROOT, file), async () => {
      before(stopFollowingPromises)
      await import(file)
    })
  }
}
