import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists } from '../lib/errno.ts'
import { invalidNameReason } from '../lib/names.ts'

/** A repository of an unpacked archive, or an entry that looks like one and why it is not. */
export type FoundRepository =
  | { fullName: string; dir: string; wikiDir?: string; wikiReason?: string }
  | { path: string; reason: string }

const OWNER_AND_NAME_ONLY = 'a repository must be at OWNER/NAME.git'
const NOT_A_REPOSITORY = 'not a bare git repository'
/** How deep to look for misplaced repositories below an owner. */
const MAX_DEPTH = 3

/**
 * Finds the repositories at OWNER/NAME.git, with their wikis at OWNER/NAME.wiki.git, sorted by name. An unpacked archive has only
 * directories and files, and names that differ in more than case.
 */
export async function* findRepositories(root: string): AsyncGenerator<FoundRepository> {
  for (const owner of await readNames(root))
    if (owner.endsWith('.git')) yield { path: owner, reason: OWNER_AND_NAME_ONLY }
    else yield* findInOwner(root, owner, await readNames(join(root, owner)))
}

async function* findInOwner(
  root: string,
  owner: string,
  names: readonly string[],
): AsyncGenerator<FoundRepository> {
  if (isLikeRepository(names)) return yield { path: owner, reason: OWNER_AND_NAME_ONLY }
  yield* findMisplaced(root, owner, names)
  const folders = names.filter((name) => name.endsWith('.git'))
  const ownerReason = invalidNameReason(owner)
  if (folders.length > 0 && ownerReason !== undefined)
    return yield { path: owner, reason: ownerReason }
  const folderOf = (name: string) => join(root, owner, `${name}.git`)
  const refusal = async (name: string) =>
    isLikeRepository(await readNames(folderOf(name))) ? undefined : NOT_A_REPOSITORY
  const isWiki = (name: string): boolean => {
    const repository = name.slice(0, -'.wiki'.length)
    return name.endsWith('.wiki') && folders.includes(`${repository}.git`) && !isWiki(repository)
  }
  for (const folder of folders) {
    const name = folder.slice(0, -'.git'.length)
    const fullName = `${owner}/${name}`
    const reason = invalidNameReason(name) ?? (await refusal(name))
    if (reason !== undefined) yield { path: `${fullName}.git`, reason }
    else if (!isWiki(name)) {
      const wiki = folders.includes(`${name}.wiki.git`) ? `${name}.wiki` : undefined
      const wikiReason = wiki && (await refusal(wiki))
      yield {
        fullName,
        dir: folderOf(name),
        ...(wiki && (wikiReason ? { wikiReason } : { wikiDir: folderOf(wiki) })),
      }
    }
  }
}

/** Finds repositories that are too deep, or whose directory has no `.git` at the end of its name. */
async function* findMisplaced(
  root: string,
  path: string,
  names: readonly string[],
  depth = 1,
): AsyncGenerator<FoundRepository> {
  const reason = OWNER_AND_NAME_ONLY
  for (const name of names.filter((name) => !name.endsWith('.git'))) {
    const below = join(path, name)
    const inside = await readNames(join(root, below))
    if (isLikeRepository(inside)) yield { path: below, reason }
    else {
      for (const deep of inside)
        if (deep.endsWith('.git')) yield { path: join(below, deep), reason }
      if (depth < MAX_DEPTH) yield* findMisplaced(root, below, inside, depth + 1)
    }
  }
}

/** Git accepts a directory with these entries as a repository. */
const isLikeRepository = (names: readonly string[]): boolean =>
  ['HEAD', 'objects', 'refs'].every((name) => names.includes(name))

/** Returns the names in a directory, sorted, or none if it is a file. A work directory of a restore is no owner. */
async function readNames(path: string): Promise<string[]> {
  const names = (await ifExists(readdir(path), 'ENOTDIR')) ?? []
  return names.filter((name) => !name.startsWith('.godwit-')).sort()
}
