import { statSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import type { S3Options } from '../blobs/s3.ts'
import { createGit, findGit, type GitOptions } from '../git/git.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import type { Config } from '../settings/config.ts'
import { gitDirectory, type LayoutOptions } from '../sources/directory/git-directory.ts'
import type { Source } from '../sources/source.ts'

/** The locations of repositories, archives and temporary files. Plain values, so that they can be passed to a thread. */
export interface DataPaths {
  root: string
  layout?: LayoutOptions
  git: GitOptions
  lfsDirectory?: string | undefined
  /** The clone URL with `{owner}` and `{name}`: the origin of the repositories in an archive. */
  cloneUrl: string
  /** A directory, or the options of a bucket. */
  blobs: string | S3Options
  scratch: string
}

/** The module that a segment thread runs: TypeScript in a checkout, JavaScript in the package. */
export const SEGMENT_THREAD = new URL(
  `./segment-thread${extname(import.meta.filename)}`,
  import.meta.url,
)

export function dataPathsOf(config: Config, root: string): DataPaths {
  const { data, git, searchPath, gitTimeout: idleTimeoutMs, gitMemory } = config
  const maxMemory = gitMemory && gitMemory * 1024 * 1024
  return {
    root,
    layout: layoutOptions(config),
    git: { program: git, searchPath, home: join(data, 'git-home'), idleTimeoutMs, maxMemory },
    lfsDirectory: config.lfsDirectory,
    cloneUrl: config.cloneUrl,
    blobs: config.blobs === undefined ? join(data, 'blobs') : bucketOptions(config, config.blobs),
    scratch: join(data, 'scratch'),
  }
}

/** Returns where the archives are, for messages and comparisons. */
export const blobsAddress = ({ data, blobs }: Pick<Config, 'data' | 'blobs'>): string =>
  blobs?.replace(/\/$/, '') ?? join(data, 'blobs')

/** Returns how the paths of repositories map to their names. */
export const layoutOptions = ({ layout, owner, forge }: Config): LayoutOptions => ({
  kind: layout,
  owner,
  mayBeLowerCase: forge !== undefined,
})

export const openSource = ({ git, ...paths }: DataPaths): Source =>
  gitDirectory({ ...paths, git: createGit(git) })

function bucketOptions({ s3Endpoint, s3PublicEndpoint }: Config, address: string): S3Options {
  const { hostname: bucket, pathname } = new URL(address)
  const prefix = pathname.replace(/^\/|\/$/g, '')
  return { bucket, prefix, endpoint: s3Endpoint, publicEndpoint: s3PublicEndpoint }
}

export async function openBlobs({ blobs }: DataPaths): Promise<BlobStore> {
  if (typeof blobs === 'string') return createDiskBlobStore(blobs)
  // Loaded on demand: the SDK is large, and most installations have no bucket.
  const { createS3BlobStore } = await import('../blobs/s3.ts')
  return createS3BlobStore(blobs)
}

/** Returns the directory of the repositories. Throws if it is not set or does not exist. */
export function requireRepositories({ repositories }: Config): string {
  if (repositories === undefined) {
    throw new UsageError('no repositories: set --repositories DIR')
  }
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
