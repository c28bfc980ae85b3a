import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Removes snapshots that their process did not live to remove. A snapshot is read within hours of being taken. */
export async function sweepScratch(directory: string, olderThanMs: number): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    const found = await stat(path).catch(() => undefined)
    if (!found || found.mtimeMs > Date.now() - olderThanMs) continue
    await rm(path, { recursive: true, force: true })
  }
}
