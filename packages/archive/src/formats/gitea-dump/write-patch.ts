import { createWriteStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import {
  branchRef,
  findMergeBase,
  isExitError,
  isSha,
  type OidsByRef,
} from '@godwit/git/commits-and-refs'
import { LONG_TIMEOUT_MS } from '@godwit/git/git'
import { withWriteContext } from '@godwit/lib/disk-errors'
import type { PullRequest } from '../../records/pull-request.ts'
import type { PullHead } from '../pull-heads.ts'
import type { DumpContext } from './dump-context.ts'

type PatchContext = Pick<DumpContext, 'git' | 'directory' | 'signal'>

/**
 * Returns the merge base, which the server expects as the base commit. The record has the head of the base branch instead, which is
 * returned if no merge base is found. Returns '' if that is not known either, or if it is the head of a merged pull request: the
 * branch contains its commits already, so that its diff would be empty. `merged` is the merge commit, or ''.
 */
export async function mergeBase(
  { git, directory, signal }: PatchContext,
  refs: OidsByRef,
  { base, mergedAt }: Pick<PullRequest, 'base' | 'mergedAt'>,
  { head: { sha }, merged }: { head: PullHead; merged: string },
): Promise<string> {
  const call = { git, dir: join(directory, 'git'), signal }
  const isMerged = mergedAt !== null
  // What the branch was before the merge. If the commits were only added to it, the merge commit is the head, or a copy of it.
  const before = isSha(merged) && merged !== sha ? `${merged}^1` : undefined
  const branch = isMerged ? undefined : refs.get(branchRef(base.ref))
  let isContained = false
  for (const other of [isSha(base.sha) ? base.sha : undefined, before, branch]) {
    if (sha === '' || other === undefined) continue
    const found = await findMergeBase(call, other, sha)
    if (isMerged && found === sha) isContained = true
    else if (found) return found
  }
  return isSha(base.sha) && !isContained ? base.sha : ''
}

/** Writes the patch of a pull request. If a commit is missing, writes an empty file, because the server needs one, and returns false. */
export async function writePatch(
  { git, directory, signal }: PatchContext,
  { number, sha }: PullHead,
  base: string,
): Promise<boolean> {
  const file = join(directory, 'pulls', `${number}.patch`)
  if (sha === '' || base === '') {
    await writeFile(file, '')
    return false
  }
  const args = ['diff', '--binary', '--full-index', '--no-ext-diff', '--no-textconv', '--no-color']
  const call = { dir: join(directory, 'git'), signal, timeoutMs: LONG_TIMEOUT_MS }
  const running = git.start([...args, base, sha], call)
  running.stdin.end()
  try {
    await withWriteContext(file, () =>
      pipeline(running.stdout, createWriteStream(file), { signal }),
    )
    await running.done
    return true
  } catch (error) {
    signal.throwIfAborted()
    if (!isExitError(error)) throw error
    // The archive may not contain the base.
    await writeFile(file, '')
    return false
  }
}
