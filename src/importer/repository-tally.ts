import { type ArchiveEntry, textOf } from '../archive/read-entries.ts'

/** The keys are those of `--json`. */
export interface TalliedRepository {
  full_name: string
  /** Of all its files, its wiki included. */
  bytes: number
  /** The branch that HEAD names, or an oid; null where there is no HEAD. */
  default_branch: string | null
  branches: number
  tags: number
  other_refs: number
  has_wiki: boolean
  lfs_objects: number
  lfs_bytes: number
}

interface Seen {
  bytes: number
  head: string | null
  refs: Set<string>
  lfsObjects: number
  lfsBytes: number
}

const IN_REPOSITORY = /^repositories\/([^/]+\/[^/]+)\.git\/(.+)$/s
const PACKED_REF = /^[0-9a-f]{40,64} (refs\/.+)$/gm

/** Counts what repositories hold, entry by entry, in any order. */
export class RepositoryTally {
  readonly #seen = new Map<string, Seen>()

  async add(entry: ArchiveEntry): Promise<void> {
    const [, fullName, path] = IN_REPOSITORY.exec(entry.path) ?? []
    if (fullName === undefined || path === undefined) return
    const seen = this.#seen.get(fullName) ?? none()
    this.#seen.set(fullName, seen)
    seen.bytes += entry.size
    if (path.startsWith('refs/')) seen.refs.add(path)
    else if (path.startsWith('lfs/objects/')) {
      seen.lfsObjects += 1
      seen.lfsBytes += entry.size
    } else if (path === 'HEAD') {
      seen.head = (await textOf(entry)).trim().replace(/^ref: (?:refs\/heads\/)?/, '')
    } else if (path === 'packed-refs') {
      for (const [, name] of (await textOf(entry)).matchAll(PACKED_REF)) seen.refs.add(name!)
    }
  }

  /** In order of name; a wiki is told with its repository, where there is one. */
  repositories(): TalliedRepository[] {
    const all = [...this.#seen].sort(([a], [b]) => (a < b ? -1 : 1))
    return all
      .filter(([fullName]) => !this.#seen.has(fullName.replace(/\.wiki$/, '')) || !isWiki(fullName))
      .map(([fullName, seen]) => this.#told(fullName, seen))
  }

  #told(fullName: string, { bytes, head, refs, lfsObjects, lfsBytes }: Seen): TalliedRepository {
    const wiki = this.#seen.get(`${fullName}.wiki`)
    const below = (start: string) => [...refs].filter((name) => name.startsWith(start)).length
    const [branches, tags] = [below('refs/heads/'), below('refs/tags/')]
    return {
      full_name: fullName,
      bytes: bytes + (wiki?.bytes ?? 0),
      default_branch: head,
      branches,
      tags,
      other_refs: refs.size - branches - tags,
      has_wiki: wiki !== undefined,
      lfs_objects: lfsObjects,
      lfs_bytes: lfsBytes,
    }
  }
}

const isWiki = (fullName: string): boolean => fullName.endsWith('.wiki')

const none = (): Seen => ({
  bytes: 0,
  head: null,
  refs: new Set(),
  lfsObjects: 0,
  lfsBytes: 0,
})
