import type {
  Batch,
  Discussions,
  FoundChanges,
  Group,
  RecordsOfGroup,
  StoredGroups,
} from '../../../packages/hosts/src/discussions.ts'
import type { RepositoryName } from '../../../packages/hosts/src/source.ts'

/** Stores batches in memory instead of in a database. */
export class MemoryDiscussionStore implements StoredGroups {
  cursor: string | null = null
  readonly groups = new Map<string, Group>()

  async *versions(after = '') {
    for (const { key, version } of [...this.groups.values()])
      if (key > after) yield { key, version }
  }

  async find(key: string): Promise<Group | undefined> {
    return this.groups.get(key)
  }

  store({ put, remove, cursor }: Batch): void {
    for (const group of put) this.groups.set(group.key, JSON.parse(JSON.stringify(group)))
    for (const key of remove) this.groups.delete(key)
    this.cursor = cursor
  }

  /** Reads to the end, or stops after this many batches like a process that dies. */
  async readAll(
    discussions: Discussions,
    repository: RepositoryName,
    batches = Number.POSITIVE_INFINITY,
    signal = AbortSignal.timeout(120_000),
  ): Promise<number> {
    const changes = await discussions.findChanges(repository, this, signal)
    return this.storeAll(changes, batches)
  }

  async storeAll(changes: FoundChanges, batches = Number.POSITIVE_INFINITY): Promise<number> {
    let count = 0
    for await (const batch of changes.batches()) {
      this.store(batch)
      if (++count >= batches) break
    }
    return count
  }

  /** Returns all records of a kind, from all groups. */
  records<K extends keyof RecordsOfGroup>(kind: K): NonNullable<RecordsOfGroup[K]>[number][] {
    return [...this.groups.values()].flatMap(
      ({ records }) => [...(records[kind] ?? [])] as NonNullable<RecordsOfGroup[K]>[number][],
    )
  }

  /** Returns everything that was read, in a stable order, for comparison. */
  snapshot(): unknown {
    return [...this.groups.values()]
      .sort((a, b) => (a.key < b.key ? -1 : 1))
      .map(({ key, version, records, files }) => ({ key, version, records, files }))
  }
}
