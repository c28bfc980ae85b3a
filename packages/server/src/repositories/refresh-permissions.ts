import type {
  ForgePermissions,
  ForgeRepositories,
  KnownPerson,
} from '@godwit/hosts/forge/connect-forge'
import type { RepositoryName, Source } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import { type Account, nameKey } from '../accounts/account.ts'
import {
  accountOfForgeOrganization,
  accountOfForgeUser,
  giveUpLogin,
} from '../accounts/account-store.ts'
import {
  type AuditDependencies,
  inAuditedTransaction,
  type RecordAudit,
  THE_SERVICE,
} from '../accounts/audit-log.ts'
import type { Db } from '../db/database.ts'
import { upsertForgeRepositories } from './forge-source.ts'
import {
  forgeIdOf,
  lastPermissionsCheck,
  type Removal,
  recordPermissionsCheck,
  replacePermissions,
} from './permission-store.ts'
import { asPermissionsUnavailable, PermissionsUnavailable } from './permissions-unavailable.ts'
import { findByNameAsMap, keyOfName } from './repository-store.ts'
import { refreshRepositories } from './sync.ts'

interface PermissionsDependencies {
  db: Db
  /** Undefined if this process has no access to the repositories. */
  source: Source | undefined
  /** Rejects with HostUnavailable or HostRequestFailed. */
  readPermissions(person: KnownPerson, signal: AbortSignal): Promise<ForgePermissions>
  forgeRepositories: Pick<ForgeRepositories, 'ofOrganization' | 'organization' | 'organizations'>
  now: () => number
  warn(message: string): void
  /** Gets the entries of the audit log. */
  log?: AuditDependencies['log']
}

/** Ages of the last response of the forge, in milliseconds. */
export interface PermissionsAge {
  /** A newer response is used without a request to the forge. */
  fresh: number
  /** If the forge does not respond, a newer response is still used. */
  usable: number
}

export interface PermissionsRefresher {
  /**
   * Updates the permissions of a user, or the repositories of an organization, from the forge. Rejects with PermissionsUnavailable
   * if the forge does not respond and its last response is too old, and with AccountRemoved if the account was deleted or
   * suspended there. `wanted` are repositories that may not be in the repository index yet.
   */
  refresh(account: Account, age: PermissionsAge, wanted?: readonly RepositoryName[]): Promise<void>
}

const REMOVALS: Record<Removal, string> = {
  deleted: 'is no longer on the forge',
  suspended: 'is suspended on the forge',
  refused: 'may not read repositories on the forge, which requires a second factor',
}

/** The account was deleted, suspended or refused on the forge: it has no permissions any more. */
export class AccountRemoved extends Error {
  override name = 'AccountRemoved'

  constructor({ login }: Account, removal: Removal) {
    super(`${login} ${REMOVALS[removal]}`)
  }
}

/** Ignores AccountRemoved; throws other errors. */
export function ignoreRemoval(error: unknown): void {
  if (!(error instanceof AccountRemoved)) throw error
}

const MINUTE_MS = 60_000
/** Before an operation starts. */
export const FRESH: PermissionsAge = { fresh: 0, usable: MINUTE_MS }
/** While an operation is running. */
export const RECENT: PermissionsAge = { fresh: MINUTE_MS, usable: MINUTE_MS }
/** Before a link to an archive is made. The archive of a forge that is gone can still be downloaded. */
export const FRESH_IF_AVAILABLE: PermissionsAge = { fresh: 0, usable: Number.POSITIVE_INFINITY }
/** For other reads. */
export const RECENT_IF_AVAILABLE: PermissionsAge = {
  fresh: MINUTE_MS - 10_000,
  usable: Number.POSITIVE_INFINITY,
}

const REQUEST_TIMEOUT_MS = 20_000
const WARNING_INTERVAL_MS = MINUTE_MS
/** The longest time without another request for the same account after the forge did not respond. */
const MAX_RETRY_DELAY_MS = 10_000

export function permissionsRefresher(dependencies: PermissionsDependencies): PermissionsRefresher {
  const { db, now, warn } = dependencies
  let warnedAt = Number.NEGATIVE_INFINITY
  const failures = new Map<number, PermissionsUnavailable>()

  function warnSometimes(message: string): void {
    if (Math.abs(now() - warnedAt) < WARNING_INTERVAL_MS) return
    warnedAt = now()
    warn(message)
  }

  async function requestPermissions(
    account: Account,
    wanted: readonly RepositoryName[],
  ): Promise<Removal | undefined> {
    const requestedAt = now()
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    const forgeId = await forgeIdOf(db, account)
    if (account.type === 'Organization')
      return refreshOrganization(dependencies, account, { forgeId, requestedAt, signal })
    const permissions = await dependencies.readPermissions(
      { login: account.login, id: forgeId },
      signal,
    )
    const response = { permissions, forgeId, requestedAt, wanted }
    const { refused, removal } = await savePermissions(dependencies, account, response)
    for (const login of refused)
      warnSometimes(`${login} is an organization on the forge, but a user here`)
    return removal
  }

  async function refresh(
    account: Account,
    age: PermissionsAge,
    wanted: readonly RepositoryName[] = [],
  ) {
    const last = await lastPermissionsCheck(db, account)
    let { removal } = last
    const ageMs = Math.abs(now() - last.requestedAt)
    if (ageMs >= age.fresh)
      try {
        removal = await requestUnlessPaused(account, wanted)
      } catch (error) {
        if (!(error instanceof PermissionsUnavailable) || ageMs >= age.usable) throw error
      }
    if (removal) throw new AccountRemoved(account, removal)
  }

  /** Rejects with the last failure, instead of sending another request, until the pause after it is over. */
  async function requestUnlessPaused(account: Account, wanted: readonly RepositoryName[]) {
    const failure = failures.get(account.id)
    const pauseMs = failure ? failure.retryAt - now() : 0
    // A longer pause means that the clock was set back.
    if (failure && pauseMs > 0 && pauseMs <= MAX_RETRY_DELAY_MS) throw failure
    failures.delete(account.id)
    return requestPermissions(account, wanted).catch((cause: unknown) => {
      const { retryAt, message } = asPermissionsUnavailable(cause, now())
      warnSometimes(message)
      const pausedUntil = Math.min(retryAt, now() + MAX_RETRY_DELAY_MS)
      const unavailable = new PermissionsUnavailable(pausedUntil, message, { cause })
      failures.set(account.id, unavailable)
      throw unavailable
    })
  }

  return { refresh: oneAtATime(refresh) }
}

/** Runs one refresh per account at a time. */
function oneAtATime(refresh: PermissionsRefresher['refresh']): PermissionsRefresher['refresh'] {
  const running = new Map<number, { age: PermissionsAge; done: Promise<void> }>()
  return async (account, age, wanted = []) => {
    // A refresh that is already running may have read the permissions before this request.
    await running.get(account.id)?.done.catch(() => {})
    for (let other = running.get(account.id); other; other = running.get(account.id)) {
      // Started after this request and as strict, so its result can be shared.
      if (other.age === age && wanted.length === 0) return other.done
      await other.done.catch(() => {})
    }
    const mine = { age, done: refresh(account, age, wanted) }
    running.set(account.id, mine)
    return mine.done.finally(() => {
      if (running.get(account.id) === mine) running.delete(account.id)
    })
  }
}

/** Updates the repositories of an organization. A renamed organization is found by its forge id. */
async function refreshOrganization(
  { db, forgeRepositories }: PermissionsDependencies,
  account: Account,
  request: { forgeId: number | null; requestedAt: number; signal: AbortSignal },
): Promise<Removal | undefined> {
  const { forgeId, requestedAt, signal } = request
  const named = await forgeRepositories.organization(account.login, signal)
  const isNamed = forgeId === null || named?.id === forgeId
  const own = isNamed
    ? named
    : (await forgeRepositories.organizations(signal)).find(({ id }) => id === forgeId)
  if (own) {
    const repositories = await forgeRepositories.ofOrganization(own.login, signal)
    await upsertForgeRepositories(db, repositories, requestedAt)
  }
  const removal = forgeId !== null && !own ? 'deleted' : undefined
  await db.transaction().execute(async (tx) => {
    if (own) await accountOfForgeOrganization(tx, { ...own, createdAt: requestedAt })
    else if (named) await giveUpLogin(tx, account)
    await recordPermissionsCheck(tx, account, { requestedAt, removal })
  })
  return removal
}

interface PermissionsResponse {
  permissions: ForgePermissions
  forgeId: number | null
  requestedAt: number
  wanted: readonly RepositoryName[]
}

async function savePermissions(
  { db, source, now, log }: PermissionsDependencies,
  account: Account,
  { permissions, forgeId, requestedAt, wanted }: PermissionsResponse,
): Promise<{ refused: string[]; removal: Removal | undefined }> {
  const { person, repositories } = permissions
  await upsertForgeRepositories(db, repositories.map(withoutPermission), requestedAt)
  // A repository needs its row in the repository index before a permission on it can be stored.
  const named = new Set(wanted.map(keyOfName))
  const requested = repositories.filter(
    (each) => named.has(keyOfName(each)) && isName(each.owner) && isName(each.name),
  )
  if (source && requested.length > 0)
    await refreshRepositories({ db, source, now }, requested, await findByNameAsMap(db, requested))
  const save = async (tx: Db, record: RecordAudit) => {
    const isReassigned = forgeId !== null && person !== undefined && person.id !== forgeId
    const removal = removalOf(permissions, account, { isReassigned, forgeId })
    if (isReassigned) {
      // The login belongs to another person now: the account gets another login and loses all permissions.
      await giveUpLogin(tx, account)
      await recordPermissionsCheck(tx, account, { requestedAt, removal })
      return { refused: [], removal }
    }
    const login = person?.login ?? account.login
    if (forgeId !== null && person && nameKey(login) !== nameKey(account.login))
      await accountOfForgeUser(tx, person)
    const replaced = await replacePermissions(
      tx,
      { ...account, login },
      { ...permissions, removal },
      { now: requestedAt, record },
    )
    return { ...replaced, removal }
  }
  return inAuditedTransaction({ db, now, log }, THE_SERVICE, save)
}

function removalOf(
  { person, isSuspended, isRefused }: ForgePermissions,
  { siteAdmin }: Account,
  { isReassigned, forgeId }: { isReassigned: boolean; forgeId: number | null },
): Removal | undefined {
  if (isRefused && !isReassigned) return 'refused'
  // Without an id, a login that the forge does not know is an account of Godwit alone, and anybody may have registered the login of
  // a site admin.
  if (forgeId === null && (!person || siteAdmin)) return undefined
  if (!person || isReassigned) return 'deleted'
  return isSuspended ? 'suspended' : undefined
}

const withoutPermission = ({
  permission: _,
  ...repository
}: ForgePermissions['repositories'][number]) => repository
