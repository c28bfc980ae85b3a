import { join } from 'node:path'
import type { BlobStore } from '../blobs/blob-store.ts'
import { createDiskBlobStore } from '../blobs/disk.ts'
import type { Config } from '../config.ts'
import { connect, type Database } from '../db/connect.ts'
import { upgradeSchema } from '../db/upgrade.ts'
import { createGit, type GitOptions } from '../sources/git.ts'
import { gitDirectory } from '../sources/git-directory.ts'
import type { Source } from '../sources/source.ts'
import { UserMistake } from './command-line.ts'

/** The database of this configuration, brought to this binary's schema. */
export async function openDatabase(
  { data, databaseUrl }: Config,
  onIdleError?: (error: Error) => void,
): Promise<Database> {
  const database = connect({
    dataDirectory: data,
    databaseUrl,
    ...(onIdleError && { onIdleError }),
  })
  try {
    await upgradeSchema(database)
  } catch (error) {
    await database.close()
    throw error
  }
  return database
}

/** Opens the database for as long as `act` runs. */
export async function withDatabase<T>(
  config: Config,
  act: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(config)
  try {
    return await act(database)
  } finally {
    await database.close()
  }
}

/** Where the parts that touch disks find what they need; plain values, so that a thread can be given them. */
export interface ExportPlaces {
  root: string
  git: GitOptions
  blobs: string
  scratch: string
}

export function exportPlaces({ data, git, searchPath }: Config, root: string): ExportPlaces {
  return {
    root,
    git: { program: git, searchPath, home: join(data, 'git-home') },
    blobs: join(data, 'blobs'),
    scratch: join(data, 'scratch'),
  }
}

export function openSource({ root, git }: ExportPlaces): Source {
  return gitDirectory({ root, git: createGit(git) })
}

export function openBlobs({ blobs }: ExportPlaces): BlobStore {
  return createDiskBlobStore(blobs)
}

export function requireRepositories({ repositories }: Config): string {
  if (repositories === undefined) {
    throw new UserMistake('say which repositories: --repositories DIR')
  }
  return repositories
}
