import { hashKey, milestoneTitles } from '../../formats/spool-facts.ts'
import type { SortedRows } from '../../lib/sorted-rows.ts'
import type { RepositoryFact } from '../../records/fact.ts'
import type { FactKind, FactsByKind } from '../../records/fact-kinds.ts'
import type { Attachment, ReleaseAsset, RepositoryFile } from '../../records/release.ts'
import type { Label } from '../../records/repository.ts'

/** The archive is the left side, and what it is compared with is the right side. */
export const SIDES = ['left', 'right'] as const
export type Side = (typeof SIDES)[number]

/** A ref or an LFS object. */
interface GitFact extends RepositoryFact {
  name: string
  /** The object of a ref, or the size of an LFS object. */
  value: string
}

type Digest = { digest: string | undefined }

/** The facts that are compared, by the kind that a result names. Review threads, for example, are compared as part of their comments. */
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

/** The key of each fact: the number of the issue or pull request that it is or belongs to, or a hash of its name. */
const KEYS: { [K in FactKind]?: (fact: FactsByKind[K]) => number } = {
  repositories: () => 0,
  // Those of a repository are compared together, because a title may have got a number.
  milestones: () => 0,
  issues: ({ number }) => number,
  issue_comments: ({ on }) => on.number,
  issue_events: ({ on }) => on.number,
  pull_requests: ({ number }) => number,
  pull_request_reviews: ({ pull }) => pull,
  pull_request_review_threads: ({ pull }) => pull,
  pull_request_review_comments: ({ pull }) => pull,
  commit_comments: ({ commit }) => hashKey(commit),
  discussions: () => 0,
  releases: ({ tag }) => hashKey(tag),
  protected_branches: ({ name }) => hashKey(name),
  attachments: ({ on }) =>
    'number' in on ? on.number : 'on' in on ? on.on.number : 'pull' in on ? on.pull : 0,
  repository_files: () => 0,
}

/**
 * The facts of both sides, sorted by repository, kind and number or name, so that only those of one issue are in memory at a time.
 * Repositories of both sides have the name that they have on the left.
 */
export class Spool {
  readonly rows: SortedRows
  readonly #milestones = new Map<string, { number: number; title: string }[]>()
  /** The result of `milestoneTitles`, by the key in `#milestones`. */
  readonly #titles = new Map<string, ReadonlyMap<number, string>>()
  #last: { name: string; facts: [Side, unknown][] } = { name: '', facts: [] }

  constructor(rows: SortedRows) {
    this.rows = rows
  }

  #add<T extends RepositoryFact>(side: Side, kind: string, key: number, fact: T): void {
    const table = `${kind} ${fact.repository.toLowerCase()}`
    this.rows.add(table, key, SIDES.indexOf(side), [side, fact])
  }

  /** Adds the refs of a repository, or of its wiki. */
  addRefs(side: Side, repository: string, refs: ReadonlyMap<string, string>, wiki?: 'wiki'): void {
    for (const [name, value] of refs) {
      const [, folder] = /^refs\/(heads|tags)\//.exec(name) ?? []
      const kind = folder === 'heads' ? 'branches' : (folder ?? 'other_refs')
      this.#add(side, wiki ?? kind, hashKey(name), { repository, name, value })
    }
  }

  addLfsObject(side: Side, repository: string, oid: string, size: number): void {
    this.#add(side, 'lfs_objects', hashKey(oid), { repository, name: oid, value: `${size} bytes` })
  }

  /** Adds a fact of an archive or a host. Facts of people are not compared. `digestFile` returns the SHA-256 of an uploaded file. */
  async addFact<K extends FactKind>(
    side: Side,
    kind: K,
    fact: FactsByKind[K],
    digestFile: (path: string) => Promise<string | undefined>,
  ): Promise<void> {
    const key = KEYS[kind]?.(fact)
    if (key === undefined) return
    const repository =
      'repository' in fact ? fact.repository : 'git' in fact ? `${fact.owner}/${fact.name}` : ''
    const digest = 'file' in fact ? await digestFile(fact.file) : undefined
    const added = kind === 'repository_files' ? 'attachments' : kind
    this.#add(side, added, key, { ...fact, repository, ...('file' in fact && { digest }) })
    if ('git' in fact)
      for (const label of fact.labels)
        this.#add(side, 'labels', hashKey(label.name), { ...label, repository })
    if ('assets' in fact)
      for (const asset of fact.assets) {
        const found = { repository, tag: fact.tag, asset, digest: await digestFile(asset.file) }
        this.#add(side, 'release_assets', key, found)
      }
    if ('uuid' in fact && digest !== undefined)
      this.rows.add(`uploads ${side}`, hashKey(fact.uuid.toLowerCase()), 0, digest)
    if ('dueOn' in fact && 'title' in fact && 'state' in fact) {
      const { number, title } = fact
      const table = `${side} ${repository.toLowerCase()}`
      this.#milestones.getOrInsertComputed(table, () => []).push({ number, title })
    }
  }

  /** Returns the facts of one side that belong to one issue or pull request. The last result is cached: each comment needs its threads. */
  factsOn<K extends FactKind>(kind: K, side: Side, repository: string, number: number) {
    const table = `${kind} ${repository.toLowerCase()}`
    if (this.#last.name !== `${table} ${number}`)
      this.#last = { name: `${table} ${number}`, facts: this.rows.of(table, number) }
    const own = this.#last.facts.filter(([each]) => each === side)
    return own.map(([, fact]) => fact as FactsByKind[K])
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

  /**
   * Returns the title of a milestone, as a conversion makes it unique. Hosts number milestones in different ways, so that they are
   * compared by this title. Nothing may be added afterwards.
   */
  milestoneTitle(side: Side, repository: string, number: number | null): string | null {
    const table = `${side} ${repository.toLowerCase()}`
    const all = this.#milestones.get(table)
    if (number === null || !all) return null
    const titles =
      this.#titles.get(table) ?? milestoneTitles(all.sort((a, b) => a.number - b.number))
    this.#titles.set(table, titles)
    return titles.get(number) ?? null
  }

  /** Iterates what both sides have under one number or name, in the order of the numbers. Nothing may be added meanwhile. */
  *groups<K extends ComparedKind>(kind: K, repository: string) {
    const newGroup = (): Record<Side, FactsByComparedKind[K][]> => ({ left: [], right: [] })
    let [last, group] = [Number.NaN, newGroup()]
    const table = `${kind} ${repository.toLowerCase()}`
    for (const [key, [side, fact]] of this.rows.all<[Side, FactsByComparedKind[K]]>(table)) {
      if (key !== last && !Number.isNaN(last)) {
        yield group
        group = newGroup()
      }
      last = key
      group[side].push(fact)
    }
    if (!Number.isNaN(last)) yield group
  }

  /** Iterates everything that one side has of a kind. Nothing may be added meanwhile. */
  factsOf<K extends ComparedKind>(kind: K, side: Side, repository: string) {
    return Iterator.from(this.groups(kind, repository)).flatMap((group) => group[side])
  }
}
