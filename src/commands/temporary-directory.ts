import { mkdtemp, rm } from 'node:fs/promises'

/** Creates a temporary directory. Disposing removes it. (fs.mkdtempDisposable does not exist before Node 24.4.) */
export async function temporaryDirectory(prefix: string) {
  const path = await mkdtemp(prefix)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
