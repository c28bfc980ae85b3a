import type { RepositoryName } from '@godwit/hosts/source'
import { parseFullName } from '@godwit/lib/names'
import { mapInTurns } from '@godwit/lib/turns'
import { type Expression, type SqlBool, sql } from 'kysely'
import {
  type Account,
  isTokenForOtherOwner,
  nameKey,
  type Reader,
  type Viewer,
} from '../accounts/account.ts'
import { accountFromRow } from '../accounts/account-store.ts'
import { findVisibleOrganization } from '../accounts/membership-store.ts'
import { type Db, selectInBatches } from '../db/database.ts'
import {
  mayRead,
  metadataOfUnreadable,
  permissionsOf,
  type RepositoryMetadata,
  type Role,
} from './repository-metadata.ts'
import {
  countForks,
  findById,
  findByNameAsMap,
  type IndexedRepository,
  keyOfEntry,
  rolesOf,
} from './repository-store.ts'

/** The viewer without a token. No account has this id or login. */
const NOBODY: Reader = {
  account: { id: 0, login: '', type: 'User', siteAdmin: false, createdAt: 0 },
}

export interface VisibleRepository {
  entry: IndexedRepository
  role: Role
  /** Whose view of the metadata applies: the viewer's, or the organization's for its owners. */
  as: Reader
}

/** How a path refers to a repository or an account. */
type RepositoryRef = RepositoryName | { id: number }
type AccountRef = { login: string } | { id: number }

/**
 * Returns a repository if the viewer may read it. A missing repository and an unreadable one take the same single query, so
 * that the time of the response does not tell them apart.
 */
export async function findVisibleRepository(
  db: Db,
  viewer: Viewer | null,
  of: RepositoryRef,
): Promise<VisibleRepository | undefined> {
  const [entry] = await findById(db, await readableId(db, viewer ?? NOBODY, of))
  if (!entry) return undefined
  const as = await viewOf(db, viewer, entry.owner)
  return { entry, as, role: (await rolesOf(db, as, [entry])).get(entry.id) ?? 'none' }
}

/** Returns whose view of an owner's repositories applies: the viewer's, or the organization's for its owners and site admins. */
export async function viewOf(db: Db, viewer: Viewer | null, owner: Account): Promise<Reader> {
  if (!viewer || isTokenForOtherOwner(viewer, owner)) return NOBODY
  if (owner.type === 'User') return viewer
  const organization = await findVisibleOrganization(db, viewer, { id: owner.id })
  return organization?.mayMigrate ? { account: owner } : viewer
}

/** Returns the id if the repository is public, owned by the account or its organization, or shared with the account. */
async function readableId(
  db: Db,
  { account, organizationId }: Reader,
  of: RepositoryRef,
): Promise<number[]> {
  const rows = await db
    .selectFrom('repositories')
    .innerJoin('accounts', 'accounts.id', 'repositories.owner_id')
    .select('repositories.id')
    .where((eb) =>
      'id' in of
        ? eb('repositories.id', '=', of.id)
        : eb.and([
            eb('accounts.login_key', '=', nameKey(of.owner)),
            eb('name_key', '=', nameKey(of.name)),
          ]),
    )
    .where('missing_since', 'is', null)
    .where((eb) =>
      eb.or([
        eb('private', '=', 0),
        eb('owner_id', '=', account.id),
        eb.exists(
          eb
            .selectFrom('collaborators')
            .select('permission')
            .whereRef('repository_id', '=', 'repositories.id')
            .where('collaborators.login_key', '=', nameKey(account.login)),
        ),
        eb.and([
          eb('accounts.type', '=', 'Organization'),
          ...(account.siteAdmin ? [] : [ownsOrganization(account.id, 'repositories.owner_id')]),
        ]),
      ]),
    )
    .$if(organizationId !== undefined, (query) =>
      query.where((eb) => eb.or([eb('private', '=', 0), eb('owner_id', '=', organizationId!)])),
    )
    .execute()
  return rows.map(({ id }) => id)
}

/**
 * Returns an account if the viewer may know of it. With a token: all users, and the organizations of which the viewer is a
 * member or may read a repository. Without a token: owners of public repositories. Takes the same
 * number of queries whether or not the account exists: one, or two for a token of one organization.
 */
export async function findVisibleAccount(
  db: Db,
  viewer: Viewer | null,
  of: AccountRef,
): Promise<Account | undefined> {
  if (viewer?.organizationId !== undefined) {
    const organization = await findVisibleOrganization(db, viewer, of)
    const visible = await findVisibleAccount(db, null, of)
    return organization?.account ?? visible
  }
  const { account } = viewer ?? NOBODY
  const row = await db
    .selectFrom('accounts')
    .selectAll()
    .where((eb) => ('id' in of ? eb('id', '=', of.id) : eb('login_key', '=', nameKey(of.login))))
    .$if(!account.siteAdmin, (query) =>
      query.where((eb) =>
        eb.or([
          ...(viewer ? [eb('type', '=', 'User')] : []),
          eb.exists(
            eb
              .selectFrom('memberships')
              .select('role')
              .whereRef('organization_id', '=', 'accounts.id')
              .where('account_id', '=', account.id),
          ),
          eb.exists(
            eb
              .selectFrom('repositories')
              .leftJoin('collaborators', (join) =>
                join
                  .onRef('repository_id', '=', 'repositories.id')
                  .on('collaborators.login_key', '=', nameKey(account.login)),
              )
              .select('repositories.id')
              .whereRef('owner_id', '=', 'accounts.id')
              .where('missing_since', 'is', null)
              .where((eb) => eb.or([eb('private', '=', 0), eb('permission', 'is not', null)])),
          ),
        ]),
      ),
    )
    .executeTakeFirst()
  return row && accountFromRow(row)
}

/**
 * Selects the ids of the repositories that an account may read now: permissions may change while a migration waits. For a
 * repository that is gone from the source, its last known permissions apply.
 */
export function readableBy(db: Db, accountId: number | Expression<number>) {
  return db
    .selectFrom('repositories')
    .select('repositories.id')
    .where((eb) =>
      eb.or([
        eb('repositories.private', '=', 0),
        eb('repositories.owner_id', '=', accountId),
        eb.exists(
          eb
            .selectFrom('collaborators')
            .innerJoin('accounts', 'accounts.login_key', 'collaborators.login_key')
            .select('collaborators.repository_id')
            .whereRef('collaborators.repository_id', '=', 'repositories.id')
            .where('accounts.id', '=', accountId),
        ),
      ]),
    )
}

/** Returns those of the ids that the account may read. */
export async function readableAmong(
  db: Db,
  accountId: number,
  ids: readonly number[],
): Promise<Set<number>> {
  const rows = await selectInBatches(ids, (batch) =>
    readableBy(db, accountId).where('repositories.id', 'in', batch),
  )
  return new Set(rows.map(({ id }) => id))
}

/** SQL for "the account is an owner of the organization". Both are columns with ids, except that the account may be an id itself. */
export const ownsOrganization = (account: string | number, organization: string) =>
  sql<SqlBool>`exists (select 1 from memberships
    where organization_id = ${sql.ref(organization)} and role = 'owner'
    and memberships.account_id = ${typeof account === 'string' ? sql.ref(account) : account})`

/** Returns the entries as the viewer sees them, with their templates, in the same order. */
export async function metadataForViewer(
  db: Db,
  viewer: Reader,
  entries: readonly IndexedRepository[],
): Promise<RepositoryMetadata[]> {
  const names = new Set(entries.map(({ metadata }) => metadata.templateRepository ?? ''))
  const templates = await findByNameAsMap(
    db,
    [...names].flatMap((fullName) => parseFullName(fullName) ?? []),
  )
  const all = [...entries, ...templates.values()]
  const roles = await rolesOf(db, viewer, all)
  const forks = await countForks(db, viewer, all)

  const viewOf = (
    entry: IndexedRepository,
    template: RepositoryMetadata | null,
  ): RepositoryMetadata =>
    metadataOf(entry, {
      role: roles.get(entry.id) ?? 'none',
      forksCount: forks.get(keyOfEntry(entry)) ?? 0,
      template,
    })

  return mapInTurns(entries, (entry) => {
    const template = templates.get(nameKey(entry.metadata.templateRepository ?? ''))
    const visible = template && mayRead(roles.get(template.id) ?? 'none', template.metadata)
    return viewOf(entry, visible ? { ...viewOf(template, null), collaborators: [] } : null)
  })
}

/** Returns the metadata of a repository that the viewer may no longer read: only its name, owner and creation time. */
export function withheldMetadata({
  id,
  name,
  owner,
  createdAt,
}: RepositoryMetadata): RepositoryMetadata {
  const metadata = metadataOfUnreadable(createdAt)
  const entry = { id, name, owner, changeToken: '', metadata, problem: null }
  return metadataOf(entry, { role: 'none', forksCount: 0, template: null })
}

function metadataOf(
  { id, name, owner, metadata }: IndexedRepository,
  view: { role: Role; forksCount: number; template: RepositoryMetadata | null },
): RepositoryMetadata {
  const { headCommit, templateRepository, forkOf, ownerIsOrganization, ...shown } = metadata
  return {
    id,
    name,
    owner,
    ...shown,
    fork: forkOf !== null,
    forksCount: view.forksCount,
    permissions: permissionsOf(view.role, metadata),
    template: view.template,
  }
}
