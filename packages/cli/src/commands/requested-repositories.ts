import type { RefusedEntry, RepositoryName, Source } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { nameKey } from '@godwit/server/accounts/account'
import { findAccount } from '@godwit/server/accounts/account-store'
import { findByNameAsMap, keyOfName } from '@godwit/server/repositories/repository-store'
import {
  refreshRepositories,
  type SyncDependencies,
  storeMembers,
} from '@godwit/server/repositories/sync'
import { COMMAND_LINE } from './service-database.ts'

/**
 * Resolves the arguments OWNER and OWNER/NAME to indexed repositories, each once, and refreshes their metadata. `refused` lists what the
 * directories of the requested owners contain besides valid repositories.
 */
export async function findRequestedRepositories(
  dependencies: SyncDependencies,
  requested: string[],
) {
  const found = new Map<string, RepositoryName>()
  const refused: RefusedEntry[] = []
  for (const text of requested) {
    const [owner = '', name, ...more] = text.split('/')
    if (more.length > 0 || !isName(owner) || (name !== undefined && !isName(name)))
      throw new UsageError(`"${text}" is neither OWNER nor OWNER/NAME`)
    const login = (await findAccount(dependencies.db, owner))?.login ?? owner
    const matches = await (name === undefined
      ? findByOwner(dependencies.source, login)
      : findByName(dependencies.source, { owner: login, name }, owner))
    for (const each of matches.found) found.set(keyOfName(each), each)
    for (const each of matches.refused) refused.push(each)
  }
  const names = [...found.values()]
  await refreshRepositories(dependencies, names, await findByNameAsMap(dependencies.db, names))
  await storeMembers(
    { actor: COMMAND_LINE, ...dependencies },
    new Set(names.map(({ owner }) => owner)),
  )
  const entries = await findByNameAsMap(dependencies.db, names)
  return { entries: names.flatMap((name) => entries.get(keyOfName(name)) ?? []), refused }
}

/** `typed` is the owner as the user typed it, perhaps in another case. */
async function findByName(source: Source, { owner, name }: RepositoryName, typed: string) {
  const found = await source.find(owner, name)
  if (!found) {
    if (typed !== owner && (await source.find(typed, name))?.owner === typed)
      throw new UserError(
        `${typed} and ${owner} differ only by case: only repositories of ${owner} are served, rename one`,
      )
    const why = await source.whyHidden?.({ owner, name })
    throw new UserError(
      why ? `${owner}/${name}: ${why}` : `repository ${owner}/${name} does not exist`,
    )
  }
  return { found: [found], refused: [] }
}

async function findByOwner(source: Source, owner: string) {
  const found: RepositoryName[] = []
  const refused: RefusedEntry[] = []
  const isOwner = (name: string) => nameKey(name) === nameKey(owner)
  for await (const listed of source.list((name) => (isOwner(name) ? owner : undefined))) {
    if ('found' in listed) {
      if (isOwner(listed.found.owner)) found.push(listed.found)
    } else if ('refused' in listed && isOwner(ownerOf(listed.refused))) {
      refused.push(listed.refused)
    }
  }
  if (found.length === 0 && refused.length === 0)
    throw new UserError(`${owner} has no repositories in --repositories`)
  return { found, refused }
}

/** Returns the owner that the entry would have if it were a repository. */
function ownerOf({ path, hiddenRepositories: hidden }: RefusedEntry): string {
  const name = !hidden ? path : 'fullName' in hidden ? hidden.fullName : hidden.prefix
  return name.split('/')[0]!
}
