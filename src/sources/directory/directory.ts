import type { Dirent } from 'node:fs'
import { Unreadable } from '../unreadable.ts'
import { entriesIn, preciseStat } from './files/sync-fs.ts'
import { reasonOf } from './files/why-unreadable.ts'

/** What a restore is still unpacking, or left when it was killed, is not the host's. */
const isOurs = ({ name }: Dirent): boolean => name.startsWith('.godwit-')

/** What a directory held when it was read, sorted by name. */
export class Directory {
  readonly entries: readonly Dirent[]
  #faultByName: Map<string, Dirent[]> | undefined
  #repositories: Dirent[] | undefined

  constructor(entries: Dirent[]) {
    this.entries = entries
      .filter((entry) => !isOurs(entry))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** All entries of that name, without regard to case. */
  named(name: string): readonly Dirent[] {
    this.#faultByName ??= Map.groupBy(this.entries, (entry) => entry.name.toLowerCase())
    return this.#faultByName.get(name.toLowerCase()) ?? []
  }

  has(name: string): boolean {
    return this.named(name).some((entry) => entry.name === name)
  }

  hasDirectory(name: string): boolean {
    return this.named(name).some((entry) => entry.name === name && entry.isDirectory())
  }

  get repositories(): readonly Dirent[] {
    this.#repositories ??= this.entries.filter(isNamedAsRepository)
    return this.#repositories
  }
}

export type ReadDirectory = (dir: string) => Promise<Directory | { reason: string }>

export const readDirectory: ReadDirectory = async (dir) => {
  try {
    return new Directory(await entriesIn(dir))
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    return { reason }
  }
}

/** Rejects where it cannot be read: an empty answer would read as if every repository had been removed. */
export async function readRoot(root: string, read = readDirectory): Promise<Directory> {
  const top = await read(root)
  if ('reason' in top) throw new Unreadable(`the directory of repositories: ${top.reason}`)
  return top
}

export function isNamedAsRepository({ name }: Dirent): boolean {
  return name.endsWith('.git')
}

/** A directory that changed less long ago could change again without its times telling. */
const SETTLED_AFTER_MS = 2000
const MAX_REMEMBERED = 64

/**
 * Reads a directory again only when it has changed: looking up each of ten thousand repositories of one owner would
 * otherwise read ten thousand names ten thousand times.
 */
export function rememberingReader(now: () => number = Date.now): ReadDirectory {
  const remembered = new Map<string, { times: string; directory: Directory }>()
  return async (dir) => {
    const times = await settledTimes(dir, now())
    const known = remembered.get(dir)
    if (known && known.times === times) return known.directory
    remembered.delete(dir)
    const directory = await readDirectory(dir)
    if (times === undefined || 'reason' in directory) return directory
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.set(dir, { times, directory })
    return directory
  }
}

async function settledTimes(dir: string, now: number): Promise<string | undefined> {
  const stats = await preciseStat(dir).catch(() => undefined)
  if (!stats || Number(stats.ctimeMs) > now - SETTLED_AFTER_MS) return undefined
  return `${stats.dev} ${stats.ino} ${stats.mtimeNs} ${stats.ctimeNs}`
}
