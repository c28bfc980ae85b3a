import { statSync } from 'node:fs'
import { extname, join } from 'node:path'
import { createGit, findGit, type GitOptions } from '@godwit/git/git'
import { gitDirectory, type LayoutOptions } from '@godwit/hosts/directory/git-directory'
import type { Source } from '@godwit/hosts/source'
import { UsageError, UserError } from '@godwit/lib/user-error'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import type { S3Options } from '../blobs/s3.ts'

export interface GitSettings {
  data: string
  git: string
  /** PATH, for git. */
  searchPath: string
  gitTimeout: number
  /** In MiB. */
  gitMemory: number | undefined
}

export interface LayoutSettings {
  layout: LayoutOptions['kind']
  owner: string | undefined
  forge: string | undefined
}

export interface SourceSettings extends GitSettings, LayoutSettings {
  lfsDirectory: string | undefined
  /** Needed to export. */
  cloneUrl?: string
}

export interface BlobSettings {
  data: string
  /** `s3://BUCKET/PREFIX`; undefined if blobs are in the data directory. */
  blobs: string | undefined
  s3Endpoint: string | undefined
  /** Needed for links to the bucket. */
  s3PublicEndpoint?: string | undefined
}

interface SourcePaths {
  root: string
  layout?: LayoutOptions
  git: GitOptions
  lfsDirectory?: string | undefined
  /** The clone URL with `{owner}` and `{name}`: the origin of the repositories in an archive. */
  cloneUrl?: string | undefined
}

/** The locations of repositories, archives and temporary files. Plain values, so that they can be passed to a thread. */
export interface DataPaths extends SourcePaths {
  /** A directory, or the options of a bucket. */
  blobs: string | S3Options
  scratch: string
}

/** The module that a segment thread runs: TypeScript in a checkout, JavaScript in the package. */
export const SEGMENT_THREAD = new URL(
  `./segment-thread${extname(import.meta.filename)}`,
  import.meta.url,
)

export const dataPathsOf = (
  settings: SourceSettings & BlobSettings & { cloneUrl: string },
  root: string,
): DataPaths => ({
  ...sourcePathsOf(settings, root),
  blobs: blobsOf(settings),
  scratch: scratchOf(settings),
})

export const sourcePathsOf = (settings: SourceSettings, root: string): SourcePaths => ({
  root,
  layout: layoutOptions(settings),
  git: gitOptions(settings),
  lfsDirectory: settings.lfsDirectory,
  cloneUrl: settings.cloneUrl,
})

export function gitOptions(settings: GitSettings): GitOptions {
  const { data, git, searchPath, gitTimeout: idleTimeoutMs, gitMemory } = settings
  const maxMemory = gitMemory && gitMemory * 1024 * 1024
  return { program: git, searchPath, home: gitHomeOf({ data }), idleTimeoutMs, maxMemory }
}

type DataDirectory = { data: string }

/** Git runs with a HOME of its own, so that it reads no user's settings. */
export const gitHomeOf = ({ data }: DataDirectory): string => join(data, 'git-home')

export const scratchOf = ({ data }: DataDirectory): string => join(data, 'scratch')

/** Returns where the archives are, for messages and comparisons. */
export const blobsAddress = ({ data, blobs }: Pick<BlobSettings, 'data' | 'blobs'>): string =>
  blobs?.replace(/\/$/, '') ?? join(data, 'blobs')

/** Returns how the paths of repositories map to their names. */
export const layoutOptions = ({ layout, owner, forge }: LayoutSettings): LayoutOptions => ({
  kind: layout,
  owner,
  mayBeLowerCase: forge !== undefined,
})

export const openSource = ({ git, ...paths }: SourcePaths): Source =>
  gitDirectory({ ...paths, git: createGit(git) })

/** Returns the directory of the blobs, or the options of their bucket. */
export function blobsOf(settings: BlobSettings): DataPaths['blobs'] {
  const { blobs, s3Endpoint: endpoint, s3PublicEndpoint: publicEndpoint } = settings
  if (blobs === undefined) return blobsAddress(settings)
  const { hostname: bucket, pathname } = new URL(blobs)
  return { bucket, prefix: pathname.replace(/^\/|\/$/g, ''), endpoint, publicEndpoint }
}

export async function openBlobs(blobs: DataPaths['blobs']): Promise<BlobStore> {
  if (typeof blobs === 'string') return createDiskBlobStore(blobs)
  // Loaded on demand: the SDK is large, and most installations have no bucket.
  const { createS3BlobStore } = await import('../blobs/s3.ts')
  return createS3BlobStore(blobs)
}

/** Returns the directory of the repositories. Throws if it is not set or does not exist. */
export function requireRepositories(repositories: string | undefined): string {
  if (repositories === undefined) throw new UsageError('no repositories: set --repositories DIR')
  if (!statSync(repositories, { throwIfNoEntry: false })?.isDirectory())
    throw new UserError(
      `--repositories: directory ${repositories} does not exist: check the spelling and the mount`,
    )
  return repositories
}

/** Throws if git is missing or too old, so that a start fails rather than every export. */
export async function requireGit(options: GitOptions): Promise<void> {
  const { found, advice } = await findGit(options, createGit(options))
  if (advice !== undefined) throw new UserError(`${found}: ${advice}`)
}
