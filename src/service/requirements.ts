import { statSync } from 'node:fs'
import { createGit, type GitOptions } from '../git/git.ts'
import { findGit } from '../git/installed-git.ts'
import { UsageError, UserError } from '../lib/user-error.ts'

/** Returns the directory of the repositories. Throws if it is not set or does not exist. */
export function requireRepositories(repositories: string | undefined): string {
  if (repositories === undefined) throw new UsageError('no repositories: set --repositories DIR')
  if (!statSync(repositories, { throwIfNoEntry: false })?.isDirectory())
    throw new UserError(
      `--repositories: directory ${repositories} does not exist: check the spelling and the mount`,
    )
  return repositories
}

/** Throws if git is missing or too old, so that a start fails rather than every export. */
export async function requireGit(options: GitOptions): Promise<void> {
  const { found, advice } = await findGit(options, createGit(options))
  if (advice !== undefined) throw new UserError(`${found}: ${advice}`)
}
