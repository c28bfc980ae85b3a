import type { LfsPointer } from '@godwit/git/snapshot'
import type { Discussions } from './discussions.ts'
import type { RepositoryName } from './source.ts'

/**
 * A host that is only read, with the token of any user. Opening it sends no request, and throws UserError if its URL is invalid. The
 * methods reject like those of Discussions.
 */
export interface Host {
  kind: 'forge' | 'github'
  /** The address of its pages, without a trailing slash. */
  url: string
  discussions: Discussions
  /** Returns the version of Gitea, or of the Gitea that a Forgejo descends from, or undefined for another host. */
  giteaVersion(signal: AbortSignal): Promise<readonly [number, number] | undefined>
  /** Returns the object of each ref by its name, as git lists them, or undefined if there is no such repository. */
  refs(
    repository: RepositoryName,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | undefined>
  /** Yields the diff of a pull request, as git writes it. */
  pullDiff(
    repository: RepositoryName,
    number: number,
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array>
  /** Returns the size of each of these LFS objects that the host has, by oid. Downloads none. */
  lfsSizes(
    repository: RepositoryName,
    objects: readonly LfsPointer[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, number>>
}

/** How a host is opened. A download follows a redirect to one of `storageOrigins`, without the token. */
export interface HostOptions {
  url: string
  token: string
  storageOrigins?: readonly string[]
}
