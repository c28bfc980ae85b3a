import { createHash } from 'node:crypto'
import type { SortedRows } from '../../lib/sorted-rows.ts'
import type { RepositoryFact } from '../../records/fact.ts'
import type { FactKind, FactsByKind } from '../../records/fact-kinds.ts'
import type { IssueEvent } from '../../records/issue.ts'
import type { ReviewThread } from '../../records/pull-request.ts'
import type { Attachment, Release, ReleaseAsset, RepositoryFile } from '../../records/release.ts'
import type { Label, Repository } from '../../records/repository.ts'

/** The archive is the left side, and what it is compared with is the right side. */
export const SIDES = ['left', 'right'] as const
export type Side = (typeof SIDES)[number]

/** A ref or an LFS object. */
export interface GitFact extends RepositoryFact {
  name: string
  /** The object of a ref, or the size of an LFS object. */
  value: string
}

type Digest = { digest: string | undefined }

/** What is compared, kind by kind. Facts without a kind of their own are joined to others. */
export interface FactsByComparedKind
  extends Pick<
    FactsByKind,
    | ('repositories' | 'milestones' | 'issues' | 'issue_comments' | 'issue_events')
    | ('pull_requests' | 'pull_request_reviews' | 'pull_request_review_comments')
    | ('commit_comments' | 'discussions' | 'releases' | 'protected_branches')
  > {
  branches: GitFact
  tags: GitFact
  other_refs: GitFact
  wiki: GitFact
  lfs_objects: GitFact
  labels: RepositoryFact & Label
  release_assets: RepositoryFact & { tag: string; asset: ReleaseAsset } & Digest
  attachments: (Attachment | RepositoryFile) & Digest
}

export type ComparedKind = keyof FactsByComparedKind

/** Reads the file of a release asset or attachment and returns its SHA-256, or undefined if there is no such file. */
type DigestFile = (path: string) => Promise<string | undefined>

const sideNumber = (side: Side) => SIDES.indexOf(side)

/** Returns a key for `SortedRows` that identifies a text. */
export const hashKey = (text: string): number =>
  createHash('sha1').update(text).digest().readUIntBE(0, 6)

/**
 * The facts of both sides, sorted by repository, kind and number or name, so that only those of one issue are in memory at a time.
 * Repositories of both sides have the name that they have on the left.
 */
export class Spool {
  readonly rows: SortedRows
  readonly #milestones = new Map<string, string>()
  #lastJoined: { name: string; facts: unknown[] } = { name: '', facts: [] }

  constructor(rows: SortedRows) {
    this.rows = rows
  }

  add<K extends ComparedKind>(
    side: Side,
    kind: K,
    key: number,
    fact: FactsByComparedKind[K],
  ): void {
    const name = 'repository' in fact ? fact.repository : `${fact.owner}/${fact.name}`
    this.rows.add(`${kind} ${name.toLowerCase()}`, key, sideNumber(side), [side, fact])
  }

  /** Adds a fact that is joined to those of another kind. */
  #join(side: Side, table: string, key: number, fact: RepositoryFact): void {
    this.rows.add(`${table} ${side} ${fact.repository.toLowerCase()}`, key, 0, fact)
  }

  joined<T>(side: Side, table: 'locks' | 'threads', repository: string, key: number): T[] {
    const name = `${table} ${side} ${repository.toLowerCase()} ${key}`
    // All comments of a pull request need its threads.
    if (this.#lastJoined.name !== name) {
      const facts = this.rows.of(`${table} ${side} ${repository.toLowerCase()}`, key)
      this.#lastJoined = { name, facts }
    }
    return this.#lastJoined.facts as T[]
  }

  addDiff(side: Side, repository: string, number: number, patchId: string): void {
    this.rows.add(`diffs ${side} ${repository.toLowerCase()}`, number, 0, patchId)
  }

  diffOf(side: Side, repository: string, number: number): string | undefined {
    return this.rows.of<string>(`diffs ${side} ${repository.toLowerCase()}`, number)[0]
  }

  /** Returns the SHA-256 of the attachment with this UUID. */
  uploadOf(side: Side, uuid: string): string | undefined {
    return this.rows.of<string>(`uploads ${side}`, hashKey(uuid.toLowerCase()))[0]
  }

  /** Hosts number milestones in different ways, so that issues are compared by the title of their milestone. */
  milestoneTitle(side: Side, repository: string, number: number | null): string | null {
    if (number === null) return null
    return this.#milestones.get(`${side} ${repository.toLowerCase()} ${number}`) ?? null
  }

  /** Iterates what both sides have under one number or name, in the order of the numbers. Nothing may be added meanwhile. */
  *groups<K extends ComparedKind>(kind: K, repository: string) {
    type Group = Record<Side, FactsByComparedKind[K][]>
    let [last, group]: [number | undefined, Group] = [undefined, { left: [], right: [] }]
    const rows = this.rows.all<[Side, FactsByComparedKind[K]]>(
      `${kind} ${repository.toLowerCase()}`,
    )
    for (const [key, [side, fact]] of rows) {
      if (last !== undefined && key !== last) {
        yield group
        group = { left: [], right: [] }
      }
      last = key
      group[side].push(fact)
    }
    if (last !== undefined) yield group
  }

  /** Adds a fact of an archive or a host. Facts of people are not compared. */
  async addFact<K extends FactKind>(
    side: Side,
    kind: K,
    fact: FactsByKind[K],
    digestFile: DigestFile,
  ): Promise<void> {
    const add = ADD[kind] as AddFact<K> | undefined
    await add?.(this, side, fact, digestFile)
  }

  async addUpload(side: Side, fact: Attachment | RepositoryFile, digestFile: DigestFile) {
    const digest = await digestFile(fact.file)
    if ('uuid' in fact && digest)
      this.rows.add(`uploads ${side}`, hashKey(fact.uuid.toLowerCase()), 0, digest)
    this.add(side, 'attachments', issueOf(fact), { ...fact, digest })
  }

  async addRelease(side: Side, fact: Release, digestFile: DigestFile) {
    const { repository, tag, assets } = fact
    this.add(side, 'releases', hashKey(tag), fact)
    for (const asset of assets) {
      const digest = await digestFile(asset.file)
      this.add(side, 'release_assets', hashKey(tag), { repository, tag, asset, digest })
    }
  }

  addRepository(side: Side, fact: Repository): void {
    this.add(side, 'repositories', 0, fact)
    const repository = `${fact.owner}/${fact.name}`
    for (const label of fact.labels)
      this.add(side, 'labels', hashKey(label.name), { ...label, repository })
  }

  addMilestone(side: Side, fact: FactsByKind['milestones']): void {
    const name = `${side} ${fact.repository.toLowerCase()} ${fact.number}`
    this.#milestones.set(name, fact.title)
    this.add(side, 'milestones', hashKey(fact.title), fact)
  }

  addEvent(side: Side, fact: IssueEvent): void {
    this.add(side, 'issue_events', fact.on.number, fact)
    if (/^(?:un)?locked$/.test(fact.event)) this.#join(side, 'locks', fact.on.number, fact)
  }

  addThread(side: Side, fact: ReviewThread): void {
    this.#join(side, 'threads', fact.pull, fact)
  }
}

type AddFact<K extends FactKind> = (
  spool: Spool,
  side: Side,
  fact: FactsByKind[K],
  digestFile: DigestFile,
) => void | Promise<void>

const ADD: { [K in FactKind]?: AddFact<K> } = {
  repositories: (spool, side, fact) => spool.addRepository(side, fact),
  milestones: (spool, side, fact) => spool.addMilestone(side, fact),
  issues: (spool, side, fact) => spool.add(side, 'issues', fact.number, fact),
  issue_comments: (spool, side, fact) => spool.add(side, 'issue_comments', fact.on.number, fact),
  issue_events: (spool, side, fact) => spool.addEvent(side, fact),
  pull_requests: (spool, side, fact) => spool.add(side, 'pull_requests', fact.number, fact),
  pull_request_reviews: (spool, side, fact) =>
    spool.add(side, 'pull_request_reviews', fact.pull, fact),
  pull_request_review_threads: (spool, side, fact) => spool.addThread(side, fact),
  pull_request_review_comments: (spool, side, fact) =>
    spool.add(side, 'pull_request_review_comments', fact.pull, fact),
  commit_comments: (spool, side, fact) =>
    spool.add(side, 'commit_comments', hashKey(fact.commit), fact),
  discussions: (spool, side, fact) => spool.add(side, 'discussions', 0, fact),
  releases: (spool, side, fact, digestFile) => spool.addRelease(side, fact, digestFile),
  protected_branches: (spool, side, fact) =>
    spool.add(side, 'protected_branches', hashKey(fact.name), fact),
  attachments: (spool, side, fact, digestFile) => spool.addUpload(side, fact, digestFile),
  repository_files: (spool, side, fact, digestFile) => spool.addUpload(side, fact, digestFile),
}

/** Returns the number of the issue or pull request that an attachment belongs to, or 0. */
function issueOf(fact: Attachment | RepositoryFile): number {
  if (!('on' in fact)) return 0
  const { on } = fact
  if ('number' in on) return on.number
  if ('on' in on) return on.on.number
  return 'pull' in on ? on.pull : 0
}
