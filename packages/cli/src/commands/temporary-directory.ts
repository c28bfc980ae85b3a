import { mkdtemp, rm } from 'node:fs/promises'

/** Creates a temporary directory. Disposing removes it. */
export async function temporaryDirectory(prefix: string) {
  const path = await mkdtemp(prefix)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
