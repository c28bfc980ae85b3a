import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../ground/make-directory.ts'

/**
 * Removes snapshots that their process did not live to remove. A snapshot is read within hours of being taken. Older
 * than nothing are all, even those that a clock which has been put back since says are yet to come.
 */
export async function sweepScratch(directory: string, olderThanMs: number): Promise<void> {
  makeDirectory(directory, 0o700)
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => undefined)
    if (!found || (olderThanMs > 0 && found.mtimeMs > Date.now() - olderThanMs)) continue
    await rm(path, { recursive: true, force: true })
  }
}
