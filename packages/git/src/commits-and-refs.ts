import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Git } from './git.ts'
import { GitFailed } from './git-process.ts'

/** Object ids by the name of the ref. Each character of a name is one byte (latin1), because git does not require UTF-8. */
export type OidsByRef = ReadonlyMap<string, string>

export type GitRepository = { git: Git; dir: string; signal: AbortSignal }

export async function readOidsByRef({ git, ...call }: GitRepository): Promise<OidsByRef> {
  const lines = await git.run(['for-each-ref', '--format=%(objectname) %(refname)'], call)
  const refs = lines.toString('latin1').matchAll(/^(\w+) (.+)$/gm)
  return new Map(refs.map(([, oid, ref]) => [ref!, oid!]))
}

/** Points HEAD to a branch, if there is such a branch. */
export async function setHead(dir: string, refs: OidsByRef, name: string | null | undefined) {
  const branch = branchRef(name ?? '')
  if (refs.has(branch)) await writeFile(join(dir, 'HEAD'), `ref: ${branch}\n`, 'latin1')
}

/** Returns which of these ids are those of commits. */
export async function findCommits({ git, ...call }: GitRepository, ids: Iterable<string>) {
  const input = Array.from(new Set(ids).values().filter(isSha), (id) => `${id}\n`).join('')
  const output = await git.text(['cat-file', '--batch-check'], { ...call, input })
  return new Set(output.matchAll(/^(\w+) commit /gm).map(([, id]) => id!))
}

/** Returns the merge base of two commits, or undefined if they have none or one of them is unknown. */
export async function findMergeBase({ git, ...call }: GitRepository, one: string, other: string) {
  try {
    return (await git.text(['merge-base', one, other], call)).trim() || undefined
  } catch (error) {
    call.signal.throwIfAborted()
    if (!isExitError(error)) throw error
    return undefined
  }
}

/** Changes refs by lines such as `create REF ID`. */
export async function updateRefs({ git, ...call }: GitRepository, lines: readonly string[]) {
  const input = Buffer.from(lines.map((line) => `${line}\n`).join(''), 'latin1')
  await git.run(['update-ref', '--stdin'], { ...call, input })
}

export const isSha = (text: string): boolean => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text)

export const branchRef = (name: string): string =>
  `refs/heads/${Buffer.from(name).toString('latin1')}`

/** Returns whether git exited with an error, such as for an unknown commit. Returns false if it was killed or timed out. */
export function isExitError(error: unknown): boolean {
  return error instanceof GitFailed && error.exitCode !== null
}
