import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGit } from './git.ts'

/** Which git is run: a name or a path, and where a name is searched for. */
export interface GitProgram {
  git?: string
  searchPath?: string
}

/** Creates a temporary directory, and git with a home in it. Disposing removes it. */
export async function temporaryGit(options: GitProgram = {}, purpose = 'git') {
  const { git: program = 'git', searchPath = process.env.PATH ?? '' } = options
  const path = await mkdtemp(join(tmpdir(), `godwit-${purpose}-`))
  const git = createGit({ program, searchPath, home: join(path, 'git-home') })
  const remove = () => rm(path, { recursive: true, force: true })
  return { path, git, [Symbol.asyncDispose]: remove }
}
