import type { Git } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import type { LicenseFile } from '../../source.ts'
import { bytesByLanguage, licenseFileOf, listFiles } from '../facts/head-tree.ts'
import type { RepositoryCall } from '../facts/repository-refs.ts'

/** Bytes by language of what HEAD names, the largest first; nothing while its branch is unborn. */
export async function readLanguages(
  git: Git,
  call: RepositoryCall,
): Promise<Record<string, number>> {
  const head = await headCommit(git, call)
  return head === undefined ? {} : bytesByLanguage(listFiles(git, head, call))
}

/** The file whose text the licence was recognised by, or the likeliest one. */
export async function readLicenseFile(
  git: Git,
  call: RepositoryCall,
): Promise<LicenseFile | undefined> {
  const head = await headCommit(git, call)
  return head === undefined ? undefined : licenseFileOf(git, head, call)
}

async function headCommit(git: Git, call: RepositoryCall): Promise<string | undefined> {
  try {
    return (await git.text(['rev-parse', '--verify', '--quiet', 'HEAD'], call)).trim()
  } catch (error) {
    if (error instanceof GitFailed && error.exitCode === 1) return undefined
    throw error
  }
}
