import type { SortedRows } from '@godwit/lib/sorted-rows'
import { hashKey, milestoneTitles } from '../formats/sort-records.ts'
import type { RecordOfRepository } from '../records/record.ts'
import type { RecordKind, RecordsByKind } from '../records/record-kinds.ts'
import type { Attachment, ReleaseAsset, RepositoryFile } from '../records/release.ts'
import type { Label } from '../records/repository.ts'

/** The archive is the left side, and what it is compared with is the right side. */
export const SIDES = ['left', 'right'] as const
export type Side = (typeof SIDES)[number]

/** A ref or an LFS object. */
interface GitItem extends RecordOfRepository {
  name: string
  /** The object of a ref, or the size of an LFS object. */
  value: string
}

type Digest = { digest: string | undefined }

/** The records that are compared, by the kind that a result names. Review threads, for example, are compared as part of their comments. */
export interface RecordsByComparedKind
  extends Pick<
    RecordsByKind,
    | ('repositories' | 'milestones' | 'issues' | 'issue_comments' | 'issue_events')
    | ('pull_requests' | 'pull_request_reviews' | 'pull_request_review_comments')
    | ('commit_comments' | 'discussions' | 'releases' | 'protected_branches')
  > {
  branches: GitItem
  tags: GitItem
  other_refs: GitItem
  wiki: GitItem
  lfs_objects: GitItem
  labels: RecordOfRepository & Label
  release_assets: RecordOfRepository & { tag: string; asset: ReleaseAsset } & Digest
  attachments: (Attachment | RepositoryFile) & Digest
}

export type ComparedKind = keyof RecordsByComparedKind

/** The key of each record: the number of the issue or pull request that it is or belongs to, or a hash of its name. */
const KEYS: { [K in RecordKind]?: (record: RecordsByKind[K]) => number } = {
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
 * The records of both sides, sorted by repository, kind and number or name, so that only those of one issue are in memory at a time.
 * Repositories of both sides have the name that they have on the left.
 */
export class ComparisonRows {
  readonly rows: SortedRows
  readonly #milestones = new Map<string, { number: number; title: string }[]>()
  /** The result of `milestoneTitles`, by the key in `#milestones`. */
  readonly #titles = new Map<string, ReadonlyMap<number, string>>()
  #last: { name: string; records: [Side, unknown][] } = { name: '', records: [] }

  constructor(rows: SortedRows) {
    this.rows = rows
  }

  #add<T extends RecordOfRepository>(side: Side, kind: string, key: number, record: T): void {
    const table = `${kind} ${record.repository.toLowerCase()}`
    this.rows.add(table, key, SIDES.indexOf(side), [side, record])
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

  /** Adds a record of an archive or a host. People are not compared. `digestFile` returns the SHA-256 of an uploaded file. */
  async addRecord<K extends RecordKind>(
    side: Side,
    kind: K,
    record: RecordsByKind[K],
    digestFile: (path: string) => Promise<string | undefined>,
  ): Promise<void> {
    const key = KEYS[kind]?.(record)
    if (key === undefined) return
    const repository =
      'repository' in record
        ? record.repository
        : 'git' in record
          ? `${record.owner}/${record.name}`
          : ''
    const digest = 'file' in record ? await digestFile(record.file) : undefined
    const added = kind === 'repository_files' ? 'attachments' : kind
    this.#add(side, added, key, { ...record, repository, ...('file' in record && { digest }) })
    if ('git' in record)
      for (const label of record.labels)
        this.#add(side, 'labels', hashKey(label.name), { ...label, repository })
    if ('assets' in record)
      for (const asset of record.assets) {
        const found = { repository, tag: record.tag, asset, digest: await digestFile(asset.file) }
        this.#add(side, 'release_assets', key, found)
      }
    if ('uuid' in record && digest !== undefined)
      this.rows.add(`uploads ${side}`, hashKey(record.uuid.toLowerCase()), 0, digest)
    if ('dueOn' in record && 'title' in record && 'state' in record) {
      const { number, title } = record
      const table = `${side} ${repository.toLowerCase()}`
      this.#milestones.getOrInsertComputed(table, () => []).push({ number, title })
    }
  }

  /**
   * Returns the records of one side that belong to one issue or pull request. The last result is cached: each comment needs its threads.
   */
  recordsOn<K extends RecordKind>(kind: K, side: Side, repository: string, number: number) {
    const table = `${kind} ${repository.toLowerCase()}`
    if (this.#last.name !== `${table} ${number}`)
      this.#last = { name: `${table} ${number}`, records: this.rows.of(table, number) }
    const ofSide = this.#last.records.filter(([each]) => each === side)
    return ofSide.map(([, record]) => record as RecordsByKind[K])
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
    const newGroup = (): Record<Side, RecordsByComparedKind[K][]> => ({ left: [], right: [] })
    let [last, group] = [Number.NaN, newGroup()]
    const table = `${kind} ${repository.toLowerCase()}`
    for (const [key, [side, record]] of this.rows.all<[Side, RecordsByComparedKind[K]]>(table)) {
      if (key !== last && !Number.isNaN(last)) {
        yield group
        group = newGroup()
      }
      last = key
      group[side].push(record)
    }
    if (!Number.isNaN(last)) yield group
  }

  /** Iterates everything that one side has of a kind. Nothing may be added meanwhile. */
  recordsOf<K extends ComparedKind>(kind: K, side: Side, repository: string) {
    return Iterator.from(this.groups(kind, repository)).flatMap((group) => group[side])
  }
}
