import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Real exports and recorded responses, beside the checkout. They are not part of the project, so no test may need them. */
const FOLDER = join(import.meta.dirname, '../../../shared')

/** Returns a path, and options for the tests that read it: without the file they are skipped, also under CI=true. */
export function sharedFile(name: string) {
  const path = join(FOLDER, name)
  return { path, needed: { skip: existsSync(path) ? false : `${path} is not there` } } as const
}
