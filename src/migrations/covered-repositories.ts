import { type Account, keyOf } from '../accounts/account.ts'
import type { Scope } from '../accounts/scope.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../lib/names.ts'
import { mayAdminister, type RepositoryFacts } from '../repositories/facts.ts'
import { factsForViewer } from '../repositories/facts-for-viewer.ts'
import { FRESH, type RightsRefresher } from '../repositories/refresh-rights.ts'
import {
  type CatalogueEntry,
  findCatalogued,
  keyOfName,
  rolesOf,
} from '../repositories/repository-store.ts'
import { refreshRepositories } from '../repositories/sync.ts'
import type { RepositoryName, Source } from '../sources/source.ts'

export interface CoverParts {
  db: Db
  /** Absent where the repositories are not at hand; the catalogue is then taken as it is. */
  source: Source | undefined
  /** Absent where there is no forge to ask. */
  rights?: RightsRefresher | undefined
  now: () => number
  /** Ends the work, as long as nothing is written: whoever asked is gone. */
  signal?: AbortSignal | undefined
}

/** Whether it exists for others is not told. */
export const NO_LONGER_COVERED = 'it no longer exists, or may no longer be migrated'

export const isOrganization = ({ type }: Account): boolean => type === 'Organization'

export function parseName(text: string, { owner: own }: Scope): RepositoryName | undefined {
  const parts = text.split('/')
  if (parts.length > 2 || !parts.every(isName)) return undefined
  const [owner, name] = parts.length === 2 ? parts : [own.login, text]
  return { owner: owner!, name: name! }
}

/** Those of the named repositories that the scope covers, with fresh facts where the source is at hand. */
export async function coveredEntries(
  parts: CoverParts,
  scope: Scope,
  names: RepositoryName[],
): Promise<Map<string, CatalogueEntry>> {
  await parts.rights?.refresh(scope.owner, FRESH, names)
  parts.signal?.throwIfAborted()
  const known = await findCatalogued(parts.db, names)
  const entries = await coveredBy(parts.db, scope, known)
  if (!parts.source) return entries
  // A repository made since the last sync is found too, where it would be the caller's own.
  const mine = names.filter(
    (name) => keyOf(name.owner) === keyOf(scope.owner.login) || entries.has(keyOfName(name)),
  )
  const isChanged = await refreshRepositories({ ...parts, source: parts.source }, mine, known)
  if (!isChanged) return entries
  return coveredBy(parts.db, scope, await findCatalogued(parts.db, names))
}

/** Those of some full names that the scope does not cover, as a start would find. */
export async function uncoveredAmong(
  parts: CoverParts,
  scope: Scope,
  fullNames: readonly string[],
): Promise<Set<string>> {
  if (fullNames.length === 0) return new Set()
  const names = fullNames.map((fullName) => {
    const [owner = '', name = ''] = fullName.split('/')
    return { owner, name }
  })
  const entries = await coveredEntries(parts, scope, names)
  return new Set(fullNames.filter((fullName) => !entries.has(keyOf(fullName))))
}

/** A person's are those that they own or administer; an organization's are its own. */
async function coveredBy(
  db: Db,
  { owner }: Scope,
  known: ReadonlyMap<string, CatalogueEntry>,
): Promise<Map<string, CatalogueEntry>> {
  const roles = await rolesOf(db, { account: owner }, [...known.values()])
  const isCovered = (entry: CatalogueEntry): boolean =>
    isOrganization(owner)
      ? entry.owner.id === owner.id
      : mayAdminister(roles.get(entry.id) ?? 'none')
  return new Map([...known].filter(([, entry]) => isCovered(entry)))
}

export const factsOfCovered = (
  { db }: CoverParts,
  { owner }: Scope,
  names: readonly RepositoryName[],
  entries: ReadonlyMap<string, CatalogueEntry>,
): Promise<RepositoryFacts[]> =>
  factsForViewer(
    db,
    { account: owner },
    names.map((name) => entries.get(keyOfName(name))!),
  )
