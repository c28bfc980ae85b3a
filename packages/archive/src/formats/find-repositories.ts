import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ifExists } from '@godwit/lib/errno'
import { invalidNameReason } from '@godwit/lib/names'

/** A repository of an unpacked archive, or an entry that looks like one and why it is not. */
export type FoundRepository =
  | { fullName: string; dir: string; wikiDir: string | undefined; wikiReason: string | undefined }
  | { path: string; reason: string }

const MISPLACED = 'a repository must be at OWNER/NAME.git'
const NOT_A_REPOSITORY = 'not a bare git repository'
/** How deep to look for misplaced repositories. */
const MAX_DEPTH = 5

/**
 * Finds the repositories at OWNER/NAME.git, with their wikis at OWNER/NAME.wiki.git. An unpacked archive has only directories and
 * files, and names that differ in more than case.
 */
export async function findRepositories(root: string): Promise<FoundRepository[]> {
  const found = new Map(await Array.fromAsync(findBelow(root)))
  const isWiki = (path: string): boolean => {
    const repository = path.replace(/\.wiki\.git$/, '.git')
    return repository !== path && found.has(repository) && !isWiki(repository)
  }
  return [...found].flatMap(([path, isRepository]): FoundRepository[] => {
    const [, owner, name] = /^([^/]+)\/([^/]+)\.git$/.exec(path) ?? []
    if (!owner || !name) return [{ path, reason: MISPLACED }]
    const reason = invalidNameReason(owner) ?? invalidNameReason(name)
    if (reason !== undefined) return [{ path, reason }]
    if (!isRepository) return [{ path, reason: NOT_A_REPOSITORY }]
    if (isWiki(path)) return []
    const wiki = `${owner}/${name}.wiki.git`
    const wikiDir = found.get(wiki) ? join(root, wiki) : undefined
    const wikiReason = found.get(wiki) === false ? NOT_A_REPOSITORY : undefined
    return [{ fullName: `${owner}/${name}`, dir: join(root, path), wikiDir, wikiReason }]
  })
}

/** Yields the path of everything that is a bare repository or named as one, sorted, and whether git accepts it as a repository. */
async function* findBelow(root: string, path = '', depth = 0): AsyncGenerator<[string, boolean]> {
  const names = (await ifExists(readdir(join(root, path)), 'ENOTDIR')) ?? []
  const isRepository = ['HEAD', 'objects', 'refs'].every((name) => names.includes(name))
  if (path !== '' && (isRepository || path.endsWith('.git'))) yield [path, isRepository]
  else if (depth < MAX_DEPTH)
    // A restore leaves work directories with this prefix beside the owners.
    for (const name of names.sort())
      if (!name.startsWith('.godwit-')) yield* findBelow(root, join(path, name), depth + 1)
}
