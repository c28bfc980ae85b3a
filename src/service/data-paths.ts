import { join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import type { S3Options } from '../blobs/s3.ts'
import { createGit, type GitOptions } from '../git/git.ts'
import type { Config } from '../settings/config.ts'
import { gitDirectory, type LayoutOptions } from '../sources/directory/git-directory.ts'
import type { Source } from '../sources/source.ts'

/** Where the parts that touch disks find what they need; plain values, so that a thread can be given them. */
export interface DataPaths {
  root: string
  layout?: LayoutOptions
  git: GitOptions
  lfsDirectory?: string | undefined
  /** Where repositories can be cloned from, with `{owner}` and `{name}`: their origin in an archive. */
  cloneUrl: string
  /** A directory, or a bucket. */
  blobs: string | S3Options
  scratch: string
}

export function dataPathsOf(config: Config, root: string): DataPaths {
  const { data, git, searchPath, gitTimeout: idleTimeoutMs, gitMemory } = config
  const maxMemory = gitMemory && gitMemory * 1024 * 1024
  return {
    root,
    layout: layoutIn(config),
    git: { program: git, searchPath, home: join(data, 'git-home'), idleTimeoutMs, maxMemory },
    lfsDirectory: config.lfsDirectory,
    cloneUrl: config.cloneUrl,
    blobs: config.blobs === undefined ? join(data, 'blobs') : bucketOf(config, config.blobs),
    scratch: join(data, 'scratch'),
  }
}

/** How repositories are named by where they are. */
export const layoutIn = ({ layout, owner, forge }: Config): LayoutOptions => ({
  kind: layout,
  owner,
  mayBeLowerCase: forge !== undefined,
})

export function openSource({ git, ...places }: DataPaths): Source {
  return gitDirectory({ ...places, git: createGit(git) })
}

function bucketOf({ s3Endpoint, s3PublicEndpoint }: Config, address: string): S3Options {
  const { hostname: bucket, pathname } = new URL(address)
  const prefix = pathname.replace(/^\/|\/$/g, '')
  return { bucket, prefix, endpoint: s3Endpoint, publicEndpoint: s3PublicEndpoint }
}

export async function openBlobs({ blobs }: DataPaths): Promise<BlobStore> {
  if (typeof blobs === 'string') return createDiskBlobStore(blobs)
  // Loaded only here: the SDK is large, and most never need it.
  const { createS3BlobStore } = await import('../blobs/s3.ts')
  return createS3BlobStore(blobs)
}
