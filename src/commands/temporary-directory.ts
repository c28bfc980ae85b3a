import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGit } from '../git/git.ts'
import type { Config } from '../settings/config.ts'

/** Creates a temporary directory. Disposing removes it. */
export async function temporaryDirectory(prefix: string) {
  const path = await mkdtemp(prefix)
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

/** Creates a temporary directory for a command, and git with a home in it. Disposing removes it. */
export async function temporaryGit(
  config: Pick<Config<'git'>, 'git' | 'searchPath'>,
  command: string,
) {
  await using created = new AsyncDisposableStack()
  const { path } = created.use(await temporaryDirectory(join(tmpdir(), `godwit-${command}-`)))
  const { git: program, searchPath } = config
  const git = createGit({ program, searchPath, home: join(path, 'git-home') })
  const kept = created.move()
  return { path, git, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}
