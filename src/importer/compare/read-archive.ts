import { pipeline } from 'node:stream/promises'
import type { FormatReader } from '../../formats/format.ts'
import { isSha } from '../../formats/gitea-dump/pull-heads.ts'
import { digestOf } from '../../formats/github-archive/compare-manifest.ts'
import { type Git, LONG_TIMEOUT_MS } from '../../git/git.ts'
import { GitFailed } from '../../git/git-process.ts'
import { mapConcurrent } from '../../lib/map-concurrent.ts'
import { FACT_KINDS, type FactKind, type FactsByKind } from '../../records/fact-kinds.ts'
import type { PullRequest } from '../../records/pull-request.ts'
import { decodeUtf8, type Ref, resolvedRefs } from '../../sources/refs.ts'
import type { LfsPointer, Snapshot } from '../../sources/snapshot.ts'
import { hashKey, type Side, type Spool } from './spool.ts'

export interface ReadParts {
  side: Side
  spool: Spool
  git: Git
  /** Returns the name that a repository of this side has on the left. */
  nameOnLeft(fullName: string): string
  onProgress(step: string): void
  /** Called for each repository that cannot be compared, with the reason. */
  onFailure(fullName: string, reason: string): void
  /** Called with sentences about what a side does not have or does not show. */
  onNote(note: string): void
}

/** Reads everything of an archive into the spool. */
export async function readArchive(
  content: FormatReader,
  parts: ReadParts,
  signal: AbortSignal,
): Promise<void> {
  const { side, spool, onProgress, onFailure, onNote, nameOnLeft } = parts
  const digestFile = async (path: string) => {
    const found = await content.findFile(path, signal)
    return 'file' in found ? digestOf(found.file, {}, signal) : undefined
  }
  onProgress(`reading the records of the ${side === 'left' ? 'archive' : 'other archive'}`)
  for (const kind of FACT_KINDS)
    for await (const fact of content.facts(kind, signal))
      await spool.addFact(side, kind, renamed(fact, nameOnLeft), digestFile)
  for await (const repository of content.repositories(signal)) {
    const name = nameOnLeft(repository.fullName)
    onProgress(`reading ${repository.fullName}`)
    if ('errors' in repository) onFailure(name, repository.errors.join('; '))
    else {
      for (const line of repository.missingLfs) onNote(line)
      await addSnapshot(name, repository.snapshot, parts, signal)
    }
  }
}

/** Returns a fact with the name that its repository has on the left. */
export function renamed<K extends FactKind>(
  fact: FactsByKind[K],
  nameOnLeft: (fullName: string) => string,
): FactsByKind[K] {
  if ('repository' in fact) {
    const rename = <T extends { repository: string | null }>(value: T): T => ({
      ...value,
      repository: value.repository && nameOnLeft(value.repository),
    })
    return {
      ...rename(fact),
      ...('head' in fact && { head: rename(fact.head) }),
      ...('dependsOn' in fact && { dependsOn: fact.dependsOn?.map(rename) }),
    } as FactsByKind[K]
  }
  if (!('git' in fact)) return fact
  const [owner = '', name = ''] = nameOnLeft(`${fact.owner}/${fact.name}`).split('/')
  return { ...fact, owner, name }
}

async function addSnapshot(
  repository: string,
  { examination }: Snapshot,
  { side, spool, git, onFailure }: ReadParts,
  signal: AbortSignal,
): Promise<void> {
  const refsOf = (refs: readonly Ref[]) =>
    new Map(resolvedRefs(refs).map(({ ref, oid }) => [decodeUtf8(ref.name), oid]))
  const { dir, refs, lfsObjects } = examination.repository
  addRefs(spool, side, repository, refsOf(refs))
  addRefs(spool, side, repository, refsOf(examination.wiki?.refs ?? []), 'wiki')
  for (const { path, size, from } of lfsObjects) {
    const oid = path.split('/').at(-1)!
    if ((await digestOf(from, {}, signal)) === oid)
      addLfsObject(spool, side, repository, { oid, size })
    else onFailure(repository, `the LFS object ${oid} is damaged`)
  }
  const heads = refsOf(refs)
  await mapConcurrent(
    pullsOf(spool, side, repository),
    { concurrency: 2, signal },
    async (pull) => {
      const head = heads.get(`refs/pull/${pull.number}/head`) ?? pull.head.sha
      const diff = await diffIdOf(
        git,
        dir,
        { ...pull, sha: head, tip: heads.get(`refs/heads/${pull.base.ref}`) },
        signal,
      )
      if (diff !== undefined) spool.addDiff(side, repository, pull.number, diff)
    },
  )
}

export function addRefs(
  spool: Spool,
  side: Side,
  repository: string,
  refs: ReadonlyMap<string, string>,
  wiki?: 'wiki',
): void {
  for (const [name, value] of refs) {
    const kind = name.startsWith('refs/heads/')
      ? 'branches'
      : name.startsWith('refs/tags/')
        ? 'tags'
        : 'other_refs'
    spool.add(side, wiki ?? kind, hashKey(name), { repository, name, value })
  }
}

export function addLfsObject(
  spool: Spool,
  side: Side,
  repository: string,
  { oid, size }: LfsPointer,
) {
  spool.add(side, 'lfs_objects', hashKey(oid), { repository, name: oid, value: `${size} bytes` })
}

type Pull = Pick<PullRequest, 'number' | 'base' | 'head' | 'mergedAt' | 'mergeCommit'>

export function pullsOf(spool: Spool, side: Side, repository: string): Pull[] {
  return Iterator.from(spool.groups('pull_requests', repository))
    .flatMap((group) => group[side])
    .map(({ number, base, head, mergedAt, mergeCommit }) => ({
      number,
      base,
      head,
      mergedAt,
      mergeCommit,
    }))
    .toArray()
}

/** Returns the patch id of what a pull request changes, or undefined if git does not have its commits. */
async function diffIdOf(
  git: Git,
  dir: string,
  { sha, tip, base, mergedAt, mergeCommit }: Pull & { sha: string; tip: string | undefined },
  signal: AbortSignal,
): Promise<string | undefined> {
  if (!isSha(sha)) return undefined
  // After the merge, the branch contains the head. What the merge was made on does not. A fast-forward makes no commit.
  const isMerged = mergedAt !== null && mergeCommit !== sha
  const bases = [
    ...(isMerged && mergeCommit && isSha(mergeCommit) ? [`${mergeCommit}^1`] : []),
    ...(isSha(base.sha) ? [base.sha] : []),
    ...(tip ? [tip] : []),
  ]
  for (const each of bases) {
    const found = await unlessFailed(git.text(['merge-base', each, sha], { dir, signal }), signal)
    const from = found?.trim() ?? ''
    if (!isSha(from) || from === sha) continue
    const options = ['--no-ext-diff', '--no-textconv', '--no-color']
    const diff = git.start(['diff', ...options, from, sha], {
      dir,
      signal,
      timeoutMs: LONG_TIMEOUT_MS,
    })
    diff.stdin.end()
    const id = await patchId(git, diff.stdout, signal)
    await diff.done
    return id
  }
  return undefined
}

/** Returns a hash of a diff that does not depend on line numbers and on how git abbreviates the names of objects. */
export async function patchId(
  git: Git,
  diff: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<string> {
  const running = git.start(['patch-id', '--stable'], { signal, timeoutMs: LONG_TIMEOUT_MS })
  const output = running.stdout.toArray()
  // The reason why it cannot be read is reported below.
  output.catch(() => {})
  await pipeline(diff, running.stdin, { signal })
  await running.done
  const [id] = Buffer.concat(await output)
    .toString()
    .split(' ')
  return id || 'no changes'
}

async function unlessFailed(
  output: Promise<string>,
  signal: AbortSignal,
): Promise<string | undefined> {
  return output.catch((error: unknown) => {
    signal.throwIfAborted()
    if (error instanceof GitFailed && error.exitCode !== null) return undefined
    throw error
  })
}
