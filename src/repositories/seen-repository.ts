import type { Account, Viewer } from '../accounts/account.ts'
import { seenOrganization } from '../accounts/seen-organization.ts'
import type { Db } from '../db/database.ts'
import type { RepositoryName } from '../sources/source.ts'
import { mayRead, type Role } from './facts.ts'
import { readableBy } from './readable-repositories.ts'
import { type CatalogueEntry, countPublic, findByName, rolesOf } from './repository-store.ts'

/** Whoever comes without a token. No account has this id. */
export const NOBODY: Pick<Viewer, 'account'> = {
  account: { id: 0, login: '', type: 'User', siteAdmin: false, createdAt: 0 },
}

export interface SeenRepository {
  entry: CatalogueEntry
  role: Role
  /** Through whose eyes: the viewer's own, or for an owner of an organization the organization's. */
  as: Pick<Viewer, 'account'>
}

/** A repository, for those who may read it. To everyone else it is not there. */
export async function seenRepository(
  db: Db,
  viewer: Viewer | null,
  name: RepositoryName,
): Promise<SeenRepository | undefined> {
  const [entry] = await findByName(db, [name])
  if (!entry) return undefined
  const { owner } = entry
  if (viewer && owner.type === 'Organization') {
    const organization = await seenOrganization(db, viewer, { id: owner.id })
    if (organization?.mayMigrate) return { entry, role: 'owner', as: { account: owner } }
  }
  const as = viewer ?? NOBODY
  const role = (await rolesOf(db, as, [entry])).get(entry.id) ?? 'none'
  return mayRead(role, entry.facts) ? { entry, role, as } : undefined
}

/**
 * Whether somebody may know of an account. People know each other; an organization is known to its members and to those who
 * may read one of its repositories. Without a token one knows of those who have something public.
 */
export async function mayKnow(db: Db, viewer: Viewer | null, account: Account): Promise<boolean> {
  if (!viewer) return (await countPublic(db, account)) > 0
  if (account.type === 'User' || viewer.account.siteAdmin) return true
  if (await seenOrganization(db, viewer, { id: account.id })) return true
  const readable = await readableBy(db, viewer.account.id)
    .where('repositories.owner_id', '=', account.id)
    .where('missing_since', 'is', null)
    .limit(1)
    .execute()
  return readable.length > 0
}
