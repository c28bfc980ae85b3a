import { keyOf } from '../accounts/account.ts'
import { findAccount } from '../accounts/account-store.ts'
import { isName } from '../lib/names.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import { type CatalogueEntry, findCatalogued, keyOfName } from '../repositories/repository-store.ts'
import { refreshRepositories, type SyncParts, storeListedMembers } from '../repositories/sync.ts'
import type { RefusedEntry, RepositoryName, Source } from '../sources/source.ts'

export interface AskedRepositories {
  entries: CatalogueEntry[]
  /** What lies where a repository of an owner would and cannot be taken as one. */
  refused: RefusedEntry[]
}

/** What OWNER and OWNER/NAME on a command line stand for, each repository once, with fresh facts. */
export async function askedRepositories(
  parts: SyncParts,
  asked: string[],
): Promise<AskedRepositories> {
  const found = new Map<string, RepositoryName>()
  const refused: RefusedEntry[] = []
  for (const text of asked) {
    const [owner = '', name, ...more] = text.split('/')
    if (more.length > 0 || !isName(owner) || (name !== undefined && !isName(name)))
      throw new UsageError(`"${text}" is neither OWNER nor OWNER/NAME`)
    const spelling = (await findAccount(parts.db, owner))?.login ?? owner
    const those = await (name === undefined
      ? ofOwner(parts.source, spelling)
      : faultByName(parts.source, { owner: spelling, name }))
    for (const each of those.found) found.set(keyOfName(each), each)
    for (const each of those.refused) refused.push(each)
  }
  const names = [...found.values()]
  await refreshRepositories(parts, names, await findCatalogued(parts.db, names))
  await readMembers(parts, new Set(names.map(({ owner }) => owner)))
  const entries = await findCatalogued(parts.db, names)
  return { entries: names.flatMap((name) => entries.get(keyOfName(name)) ?? []), refused }
}

/** After this, an owner with members is known as an organization. */
async function readMembers({ db, source, now }: SyncParts, owners: Set<string>): Promise<void> {
  for (const owner of owners) {
    const stated = await source.members(owner)
    if (stated) await storeListedMembers(db, stated, now())
  }
}

async function faultByName(source: Source, { owner, name }: RepositoryName) {
  const found = await source.find(owner, name)
  if (!found) {
    const hidden = await source.whyHidden?.({ owner, name })
    throw new UserError(
      hidden ? `${owner}/${name}: ${hidden}` : `repository ${owner}/${name} does not exist`,
    )
  }
  return { found: [found], refused: [] }
}

async function ofOwner(source: Source, owner: string) {
  const found: RepositoryName[] = []
  const refused: RefusedEntry[] = []
  const isOwner = (name: string) => keyOf(name) === keyOf(owner)
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

/** Whose it would be. */
function ownerOf({ path, hides }: RefusedEntry): string {
  const name = !hides ? path : 'fullName' in hides ? hides.fullName : hides.beginning
  return name.split('/')[0]!
}
