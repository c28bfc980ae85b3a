import { hash } from 'node:crypto'
import type {
  ForgeOrganization,
  ForgeRepositories,
  ForgeRepository,
} from '@godwit/hosts/forge/connect-forge'
import type { FoundRepository, ListedEntry, RepositoryName, Source } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import { nameKey } from '../accounts/account.ts'
import { accountOfForgeOrganization } from '../accounts/account-store.ts'
import { type Db, statementBatches } from '../db/database.ts'
import { hasExpired } from '../db/lease-store.ts'
import { asPermissionsUnavailable } from './permissions-unavailable.ts'
import { keyOfName } from './repository-store.ts'

interface ForgeSourceDependencies {
  db: Db
  forgeRepositories: ForgeRepositories
  now: () => number
  /** Logs a warning for the operator. */
  warn(message: string): void
}

const MINUTE_MS = 60_000
/** A response of the forge about one repository is reused for this time. */
const RESPONSE_MAX_AGE_MS = MINUTE_MS
const LIST_TIMEOUT_MS = 10 * MINUTE_MS
const REQUEST_TIMEOUT_MS = 20_000
/** Pages shift while a list is read, so repositories that it lacks are requested by name. */
const MAX_REQUESTED_BY_NAME = 200

const UNKNOWN = 'the forge does not know this repository'

/**
 * Adds what a forge knows to repositories on disk: names, descriptions, visibility. A repository that the forge does not know
 * is not shown. If the forge does not respond, `list` uses its last response, and `find` rejects with PermissionsUnavailable unless
 * the last response is less than a minute old.
 */
export function forgeSource(source: Source, dependencies: ForgeSourceDependencies): Source {
  const { forgeRepositories, now, warn } = dependencies
  const responses = new WeakMap<FoundRepository, ForgeRepository>()
  let wasPublicAllowed = false

  /** If the forge requires a sign-in for everything, no repository is public: callers here may have no token. */
  async function isPublicAllowed(): Promise<boolean> {
    wasPublicAllowed = await forgeRepositories
      .isOpen(AbortSignal.timeout(REQUEST_TIMEOUT_MS))
      .catch((error: unknown) => {
        ignoreUnavailable(error)
        return wasPublicAllowed
      })
    return wasPublicAllowed
  }

  function withResponse(
    found: FoundRepository,
    response: ForgeRepository,
    mayBePublic: boolean,
  ): FoundRepository {
    const metadata = mayBePublic ? response.metadata : { ...response.metadata, private: true }
    const repository = { ...response, metadata }
    const { owner, name } = repository
    const digest = hash('sha256', JSON.stringify(repository), 'base64url').slice(0, 16)
    const changeToken = `${found.changeToken} ${digest}`
    const shown = { ...found, owner, name, changeToken }
    responses.set(shown, repository)
    return shown
  }

  return {
    ...source,

    async *list(spellingOf, readLastChangeTokens) {
      const listing = await listAll(dependencies)
      const mayBePublic = listing.isFresh ? await isPublicAllowed() : wasPublicAllowed
      let requested = 0
      const mayRequest = () => listing.isFresh && requested++ < MAX_REQUESTED_BY_NAME
      for await (const row of source.list(spellingOf, readLastChangeTokens)) {
        if (!('found' in row)) {
          yield row
          continue
        }
        const { found } = row
        const repository =
          listing.repositories.get(keyOfName(found)) ??
          (mayRequest()
            ? await requestByName(dependencies, found).catch(ignoreUnavailable)
            : undefined)
        yield repository
          ? { found: withResponse(found, repository, mayBePublic) }
          : unknownEntry(found, listing.isFresh)
      }
    },

    async find(owner, name, lastChangeToken) {
      const found = await source.find(owner, name, lastChangeToken)
      const repository = found && (await findRecent(dependencies, found))
      return repository && withResponse(found, repository, await isPublicAllowed())
    },

    async whyHidden(name) {
      return (await source.find(name.owner, name.name)) ? UNKNOWN : undefined
    },

    async metadata(found, previous, signal) {
      const metadata = await source.metadata(found, previous, signal)
      const repository = responses.get(found)
      if (!repository) throw new Error('the repository was not found by this source')
      const current = { ...metadata, ...repository.metadata }
      if (repository.topicsAsOf === undefined) return current
      try {
        const timeout = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
        return { ...current, topics: await forgeRepositories.topics(repository, timeout) }
      } catch (error) {
        warn(asPermissionsUnavailable(error, now()).message)
        return current
      }
    },
  }
}

async function requestByName(
  { db, forgeRepositories, now }: ForgeSourceDependencies,
  name: RepositoryName,
): Promise<ForgeRepository | undefined> {
  const requestedAt = now()
  const found = await forgeRepositories.find(name, AbortSignal.timeout(REQUEST_TIMEOUT_MS))
  // A renamed repository is found by its old name too.
  const isSame = found !== undefined && keyOfName(found) === keyOfName(name)
  if (isSame) await upsertForgeRepositories(db, [found], requestedAt)
  else await db.deleteFrom('forge_repositories').where('name_key', '=', keyOfName(name)).execute()
  return isSame ? found : undefined
}

/** Returns the stored response if it is recent, otherwise requests the repository from the forge. */
async function findRecent(
  dependencies: ForgeSourceDependencies,
  name: RepositoryName,
): Promise<ForgeRepository | undefined> {
  const stored = await dependencies.db
    .selectFrom('forge_repositories')
    .selectAll()
    .where('name_key', '=', keyOfName(name))
    .executeTakeFirst()
  const isFresh = stored && Math.abs(dependencies.now() - stored.requested_at) < RESPONSE_MAX_AGE_MS
  if (isFresh) return JSON.parse(stored.metadata) as ForgeRepository
  return requestByName(dependencies, name).catch((error: unknown) => {
    throw asPermissionsUnavailable(error, dependencies.now())
  })
}

/** Without a current list of the forge, the repository is refused but not withdrawn: it is not marked missing. */
function unknownEntry({ owner, name }: FoundRepository, isFresh: boolean): ListedEntry {
  const fullName = `${owner}/${name}`
  const refused = { path: `${fullName}.git`, hiddenRepositories: { fullName } }
  if (isFresh) return { refused: { ...refused, reason: UNKNOWN, isWithdrawn: true } }
  return { refused: { ...refused, reason: 'the forge has not listed this repository yet' } }
}

function ignoreUnavailable(error: unknown): undefined {
  asPermissionsUnavailable(error, 0)
}

/**
 * Creates or updates accounts of organizations of the forge that own repositories there, or have an account here by forge id or
 * login. Returns the logins that are user accounts here.
 */
async function syncOrganizations(
  db: Db,
  organizations: readonly ForgeOrganization[],
  owners: ReadonlySet<string>,
  now: number,
): Promise<string[]> {
  const rows = await db.selectFrom('accounts').select(['login', 'type', 'forge_id']).execute()
  const byId = new Map(rows.map((row) => [row.forge_id, row]))
  const logins = new Set(rows.map(({ login }) => nameKey(login)))
  const refused: string[] = []
  for (const each of organizations.filter(({ login }) => isName(login))) {
    const { id, login } = each
    const account = byId.get(id)
    const key = nameKey(login)
    if (account?.type === 'Organization' && nameKey(account.login) === key) continue
    if (!account && !logins.has(key) && !owners.has(key)) continue
    const synced = await db
      .transaction()
      .execute((tx) => accountOfForgeOrganization(tx, { ...each, createdAt: now }))
    if (!synced) refused.push(login)
  }
  return refused
}

/** Returns the repositories of the forge by lower-case full name. If it does not respond, these are the stored ones, and not fresh. */
async function listAll({ db, forgeRepositories, now, warn }: ForgeSourceDependencies) {
  const requestedAt = now()
  try {
    const signal = AbortSignal.timeout(LIST_TIMEOUT_MS)
    const all = await Array.fromAsync(forgeRepositories.all(signal))
    await replaceForgeRepositories(db, all, requestedAt)
    const owners = new Set(all.map(({ owner }) => nameKey(owner)))
    const organizations = await forgeRepositories.organizations(signal)
    for (const login of await syncOrganizations(db, organizations, owners, requestedAt))
      warn(`${login} is an organization on the forge, but a user with tokens here`)
    return { repositories: new Map(all.map((each) => [keyOfName(each), each])), isFresh: true }
  } catch (error) {
    const { message } = asPermissionsUnavailable(error, now())
    warn(`the last list of the forge's repositories is used: ${message}`)
    const rows = await db.selectFrom('forge_repositories').selectAll().execute()
    const stored = rows.map(
      (row) => [row.name_key, JSON.parse(row.metadata) as ForgeRepository] as const,
    )
    return { repositories: new Map(stored), isFresh: false }
  }
}

/** Stores responses, except for repositories with a newer one: while a list is read, others may be requested by name. */
export async function upsertForgeRepositories(
  tx: Db,
  repositories: readonly ForgeRepository[],
  requestedAt: number,
): Promise<void> {
  const rows = new Map(
    repositories.map((each) => [
      keyOfName(each),
      { name_key: keyOfName(each), metadata: JSON.stringify(each), requested_at: requestedAt },
    ]),
  )
  const requested = { now: requestedAt, maxTtlMs: LIST_TIMEOUT_MS / 2 }
  // Sorted, so that transactions that write the same rows cannot deadlock.
  const sorted = [...rows.values()].sort((a, b) => (a.name_key < b.name_key ? -1 : 1))
  for (const batch of statementBatches(sorted))
    await tx
      .insertInto('forge_repositories')
      .values(batch)
      .onConflict((oc) =>
        oc
          .column('name_key')
          .doUpdateSet((eb) => ({
            metadata: eb.ref('excluded.metadata'),
            requested_at: eb.ref('excluded.requested_at'),
          }))
          .where(hasExpired('forge_repositories.requested_at', requested)),
      )
      .execute()
}

/** Replaces the stored list, except for responses that are newer than it. */
async function replaceForgeRepositories(
  db: Db,
  repositories: readonly ForgeRepository[],
  requestedAt: number,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await upsertForgeRepositories(tx, repositories, requestedAt)
    await tx.deleteFrom('forge_repositories').where('requested_at', '<', requestedAt).execute()
  })
}
