import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { A_DAY } from '../../../git/git.ts'
import { GitFailed } from '../../../git/git-end.ts'
import { writingTo } from '../../../lib/disk-errors.ts'
import type { PullRequest } from '../../../records/pull-request.ts'
import type { DumpContext } from './dump-context.ts'
import { branchRef, isSha, type OidsByRef, type PullHead } from './pull-heads.ts'

/** Where the branch began: what the server compares a head with. The base of a record is only where the other branch was. */
export async function mergeBase(
  { git, place }: DumpContext,
  refs: OidsByRef,
  { base, mergedAt }: PullRequest,
  { sha }: PullHead,
  signal: AbortSignal,
): Promise<string> {
  const call = { dir: join(place, 'git'), signal }
  const branch = refs.get(branchRef(base.ref))
  // Once it is merged, the branch holds the head, and says nothing.
  const others = [base.sha, ...(mergedAt === null && branch ? [branch] : [])].filter(isSha)
  if (sha !== '')
    for (const other of others) {
      const said = await git.text(['merge-base', other, sha], call).catch((error: unknown) => {
        signal.throwIfAborted()
        if (!isClientError(error)) throw error
        return ''
      })
      if (isSha(said.trim())) return said.trim()
    }
  return isSha(base.sha) ? base.sha : ''
}

/** Git ran to its end and said no, as it does of commits that are not there; it was not killed, and did not hang. */
function isClientError(error: unknown): boolean {
  return error instanceof GitFailed && error.exitCode !== null
}

/** The server wants one for each, be it empty. Answers whether it could be made. */
export async function writePatch(
  { git, place }: DumpContext,
  { number, sha }: PullHead,
  base: string,
  signal: AbortSignal,
): Promise<boolean> {
  const file = join(place, 'pulls', `${number}.patch`)
  const args = ['diff', '--binary', '--full-index', '--no-ext-diff', '--no-textconv', '--no-color']
  if (sha === '' || base === '') {
    await writeFile(file, '')
    return false
  }
  const call = { dir: join(place, 'git'), signal, timeoutMs: A_DAY }
  const running = git.start([...args, base, sha], call)
  running.stdin.end()
  try {
    await writingTo(file, () => pipeline(running.stdout, createWriteStream(file), { signal }))
    await running.done
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!isClientError(error)) throw error
    // The base may be a commit that the archive does not hold.
    await writeFile(file, '')
    return false
  }
}
