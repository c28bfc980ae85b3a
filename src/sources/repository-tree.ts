import type { Dirent } from 'node:fs'
import { lstat, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  nameRefusal,
  sameName,
  type TakenNames,
  takenNames,
  wikiNames,
} from './repository-names.ts'
import { type RefusedEntry, type RepositoryName, Unreadable } from './source.ts'
import { reasonOf } from './unreadable.ts'

export interface RepositoryPlace extends RepositoryName {
  dir: string
  /** The directory of its wiki; null when it has none. */
  wikiDir: string | null
}

type Place = { repository: RepositoryPlace } | { refused: RefusedEntry }
type Places = AsyncGenerator<Place, void, void>

const A_LINK = 'a symbolic link; the directory itself must be here'
const OUT_OF_PLACE = 'a repository must be at OWNER/NAME.git'
const NO_REPOSITORY = 'not a bare git repository'

/** Below an owner, how deep to look for repositories that were put where none is expected. */
const DEEPEST = 3

/**
 * What `root` holds at OWNER/NAME.git, sorted by name, and why anything else that looks like a repository is not taken.
 * No link is ever followed: it could show a repository under an owner who may not read it.
 */
export async function* repositoriesIn(root: string, only?: RepositoryName): Places {
  const owners = takenNames()
  for (const entry of await entriesOfRoot(root)) {
    if (only && !sameName(entry.name, only.owner)) continue
    if (isNamedAsRepository(entry)) yield refused(entry.name, OUT_OF_PLACE)
    else if (entry.isDirectory()) yield* inOwner(root, entry.name, owners, only)
    else if (await isLinkToDirectory(join(root, entry.name))) yield refused(entry.name, A_LINK)
  }
}

async function* inOwner(
  root: string,
  owner: string,
  owners: TakenNames,
  only?: RepositoryName,
): Places {
  const entries = await entriesOf(join(root, owner))
  if ('reason' in entries) return yield refused(owner, entries.reason)
  if (isLikeRepository(entries)) return yield refused(owner, OUT_OF_PLACE)
  if (!only) yield* outOfPlace(root, owner, entries, 1)
  const repositories = entries.filter(isNamedAsRepository)
  if (repositories.length === 0) return
  const reason = nameRefusal(owner) ?? owners.refusal(owner)
  if (reason !== undefined) return yield refused(owner, reason)
  owners.take(owner)
  yield* ofOwner(root, owner, repositories, only)
}

async function* ofOwner(
  root: string,
  owner: string,
  entries: Dirent[],
  only?: RepositoryName,
): Places {
  const wikis = wikiNames(entries.map(nameOf))
  const names = takenNames()
  for (const entry of entries) {
    const name = nameOf(entry)
    if (only && !sameName(name, only.name)) continue
    const path = `${owner}/${entry.name}`
    const reason =
      nameRefusal(name) ?? names.refusal(name) ?? (await refusal(join(root, path), entry))
    if (reason !== undefined) {
      yield refused(path, reason)
    } else if (!wikis.has(name)) {
      names.take(name)
      yield { repository: await placeOf(root, { owner, name }) }
    }
  }
}

/** Where a repository that was found before is, whatever has become of it. */
export async function placeOf(
  root: string,
  { owner, name }: RepositoryName,
): Promise<RepositoryPlace> {
  if ((nameRefusal(owner) ?? nameRefusal(name)) !== undefined) {
    throw new Unreadable('no repository can have this name')
  }
  const dir = join(root, owner, `${name}.git`)
  const wikiDir = join(root, owner, `${name}.wiki.git`)
  return { owner, name, dir, wikiDir: (await isRepository(wikiDir)) ? wikiDir : null }
}

/** Repositories that lie deeper than an owner's, or whose directory is not named as one. */
async function* outOfPlace(root: string, path: string, entries: Dirent[], depth: number): Places {
  for (const entry of entries) {
    if (isNamedAsRepository(entry) || !entry.isDirectory()) continue
    const below = `${path}/${entry.name}`
    const inside = await entriesOf(join(root, below))
    if ('reason' in inside) {
      yield refused(below, inside.reason)
    } else if (isLikeRepository(inside)) {
      yield refused(below, OUT_OF_PLACE)
    } else {
      for (const deep of inside.filter(isNamedAsRepository)) {
        yield refused(`${below}/${deep.name}`, OUT_OF_PLACE)
      }
      if (depth < DEEPEST) yield* outOfPlace(root, below, inside, depth + 1)
    }
  }
}

async function refusal(dir: string, entry: Dirent): Promise<string | undefined> {
  if (entry.isSymbolicLink()) return A_LINK
  if (!entry.isDirectory()) return NO_REPOSITORY
  const entries = await entriesOf(dir)
  if ('reason' in entries) return entries.reason
  return isLikeRepository(entries) ? undefined : NO_REPOSITORY
}

async function isRepository(dir: string): Promise<boolean> {
  const there = await lstat(dir).catch(() => undefined)
  if (!there?.isDirectory()) return false
  const entries = await entriesOf(dir)
  return !('reason' in entries) && isLikeRepository(entries)
}

/** What git itself asks for before it takes a directory for a repository. */
function isLikeRepository(entries: readonly Dirent[]): boolean {
  return ['HEAD', 'objects', 'refs'].every((part) => entries.some(({ name }) => name === part))
}

function isNamedAsRepository({ name }: Dirent): boolean {
  return name.endsWith('.git')
}

function nameOf({ name }: Dirent): string {
  return name.slice(0, -'.git'.length)
}

function refused(path: string, reason: string): Place {
  return { refused: { path, reason } }
}

async function isLinkToDirectory(path: string): Promise<boolean> {
  const target = await stat(path).catch(() => undefined)
  return target?.isDirectory() ?? false
}

async function entriesOfRoot(root: string): Promise<Dirent[]> {
  const entries = await entriesOf(root)
  // An empty answer here would read as if every repository had been removed.
  if ('reason' in entries) throw new Unreadable(`the directory of repositories: ${entries.reason}`)
  return entries
}

async function entriesOf(dir: string): Promise<Dirent[] | { reason: string }> {
  try {
    const entries = await readdir(dir, { withFileTypes: true })
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
  } catch (error) {
    const reason = reasonOf(error)
    if (reason === undefined) throw error
    return { reason }
  }
}
