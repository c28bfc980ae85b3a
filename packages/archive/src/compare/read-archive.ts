import { pipeline } from 'node:stream/promises'
import { findCommits, findMergeBase, type GitRepository } from '@godwit/git/commits-and-refs'
import { type Git, LONG_TIMEOUT_MS } from '@godwit/git/git'
import { decodeUtf8, type Ref, resolvedRefs } from '@godwit/git/refs'
import type { Snapshot } from '@godwit/git/snapshot'
import { digestOf } from '@godwit/lib/file-digest'
import { mapConcurrent } from '@godwit/lib/turns'
import type { FormatReader } from '../formats/format.ts'
import type { PullRequest } from '../records/pull-request.ts'
import { RECORD_KINDS, type RecordKind, type RecordsByKind } from '../records/record-kinds.ts'
import type { ComparisonRows, Side } from './comparison-rows.ts'

export interface ReadOptions {
  side: Side
  comparisonRows: ComparisonRows
  git: Git
  /** Returns the name that a repository of this side has on the left. */
  nameOnLeft(fullName: string): string
  onProgress(step: string): void
  /** Called for each repository that cannot be compared, with its name on the left and the reason. */
  onFailure(fullName: string, reason: string): void
  /** Called with sentences about what a side does not have or does not show. */
  onNote(note: string): void
  signal: AbortSignal
}

export async function readArchive(content: FormatReader, options: ReadOptions): Promise<void> {
  const { side, comparisonRows, onProgress, onFailure, onNote, nameOnLeft, signal } = options
  const digestFile = async (path: string, repository: string) => {
    const found = await content.findFile(path, repository)
    return 'file' in found ? digestOf(found.file, {}, signal) : undefined
  }
  onProgress(`reading the records of the ${side === 'left' ? 'archive' : 'other archive'}`)
  for (const kind of RECORD_KINDS)
    for await (const record of content.records(kind))
      await comparisonRows.addRecord(side, kind, renamed(record, nameOnLeft), (path) =>
        digestFile(path, 'repository' in record ? record.repository : ''),
      )
  for await (const repository of content.repositories()) {
    const name = nameOnLeft(repository.fullName)
    onProgress(`reading ${repository.fullName}`)
    if ('errors' in repository) onFailure(name, repository.errors.join('; '))
    else {
      for (const line of await repository.missingLfs()) onNote(line)
      await addSnapshot(name, repository.snapshot, options)
    }
  }
}

/** Returns a record with the names that its repository and the repositories it refers to have on the left. */
export function renamed<K extends RecordKind>(
  record: RecordsByKind[K],
  nameOnLeft: (fullName: string) => string,
): RecordsByKind[K] {
  if ('repository' in record) {
    const rename = <T extends { repository: string | null }>(value: T): T => ({
      ...value,
      repository: value.repository && nameOnLeft(value.repository),
    })
    return {
      ...rename(record),
      ...('head' in record && { head: rename(record.head) }),
      ...('dependsOn' in record && { dependsOn: record.dependsOn?.map(rename) }),
    } as RecordsByKind[K]
  }
  if (!('git' in record)) return record
  const [owner = '', name = ''] = nameOnLeft(`${record.owner}/${record.name}`).split('/')
  return { ...record, owner, name }
}

async function addSnapshot(
  repository: string,
  { examination }: Snapshot,
  { side, comparisonRows, git, onFailure, signal }: ReadOptions,
): Promise<void> {
  const refsOf = (refs: readonly Ref[]) =>
    new Map(resolvedRefs(refs).map(({ ref, oid }) => [decodeUtf8(ref.name), oid]))
  const { dir, refs, lfsObjects } = examination.repository
  const oids = refsOf(refs)
  comparisonRows.addRefs(side, repository, oids)
  comparisonRows.addRefs(side, repository, refsOf(examination.wiki?.refs ?? []), 'wiki')
  for (const { path, size, from } of lfsObjects) {
    const oid = path.split('/').at(-1)!
    if ((await digestOf(from, {}, signal)) === oid)
      comparisonRows.addLfsObject(side, repository, oid, size)
    else onFailure(repository, `the LFS object ${oid} is damaged`)
  }
  const pulls = pullsOf(comparisonRows, side, repository).map((pull) => {
    const head = oids.get(`refs/pull/${pull.number}/head`) ?? pull.head.sha
    return { ...pull, head, baseTip: oids.get(`refs/heads/${pull.base.ref}`) }
  })
  if (pulls.length === 0) return
  // Asked at once, because archives without the commits of forks would need several processes for each pull request.
  const named = pulls.flatMap(({ head, base, baseTip = '', mergeCommit }) => {
    return [head, base.sha, baseTip, mergeCommit ?? '']
  })
  const commits = await findCommits({ git, dir, signal }, named)
  await mapConcurrent(pulls, { concurrency: 2, signal }, async (pull) => {
    const diff = await pullPatchId({ git, dir, signal }, pull, commits)
    if (diff !== undefined) comparisonRows.addDiff(side, repository, pull.number, diff)
  })
}

/** Returns what the diffs of all pull requests are read with, without their texts, which may not fit in memory. */
export const pullsOf = (comparisonRows: ComparisonRows, side: Side, repository: string) =>
  comparisonRows
    .recordsOf('pull_requests', side, repository)
    .map(({ number, base, head, mergedAt, mergeCommit }) => {
      return { number, base, head, mergedAt, mergeCommit }
    })
    .toArray()

interface PullCommits extends Pick<PullRequest, 'base' | 'mergedAt' | 'mergeCommit'> {
  head: string
  baseTip: string | undefined
}

/** Returns the patch id of what a pull request changes, or undefined if git does not have its commits. */
async function pullPatchId(
  { git, dir, signal }: GitRepository,
  { head, base, baseTip, mergedAt, mergeCommit }: PullCommits,
  commits: ReadonlySet<string>,
): Promise<string | undefined> {
  if (!commits.has(head)) return undefined
  // After the merge, the branch contains the head, but the parent of the merge commit does not. A fast-forward has no merge commit.
  const isMerged = mergedAt !== null && mergeCommit !== head
  const bases = [
    ...(isMerged && mergeCommit && commits.has(mergeCommit) ? [`${mergeCommit}^1`] : []),
    ...[base.sha, baseTip ?? ''].filter((sha) => commits.has(sha)),
  ]
  for (const each of bases) {
    const from = await findMergeBase({ git, dir, signal }, each, head)
    if (!from || from === head) continue
    // A server does not quote names that are not ASCII.
    const unquoted = ['-c', 'core.quotePath=false']
    const args = [...unquoted, 'diff', '--no-ext-diff', '--no-textconv', '--no-color', from, head]
    const diff = git.start(args, { dir, signal, timeoutMs: LONG_TIMEOUT_MS })
    diff.stdin.end()
    const id = await patchId(git, diff.stdout, signal)
    await diff.done
    return id
  }
  return undefined
}

/** Returns a hash of a diff that does not depend on line numbers and on how git abbreviates the names of objects. */
export async function patchId(git: Git, diff: AsyncIterable<Uint8Array>, signal: AbortSignal) {
  const running = git.start(['patch-id', '--stable'], { signal, timeoutMs: LONG_TIMEOUT_MS })
  const output = running.stdout.toArray()
  // If git fails, `done` below rejects with the reason.
  output.catch(() => {})
  await pipeline(diff, running.stdin, { signal })
  await running.done
  const [id] = Buffer.concat(await output)
    .toString()
    .split(' ')
  return id || 'no changes'
}
