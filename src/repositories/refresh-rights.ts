import { type Account, keyOf } from '../accounts/account.ts'
import {
  accountOfForgeOrganization,
  accountOfForgeUser,
  giveUpLogin,
} from '../accounts/forge-account.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../lib/names.ts'
import type { ForgeCatalogue, ForgeRights, KnownPerson } from '../sources/forge/connect-forge.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { upsertForgeRepositories } from './forge-repository-store.ts'
import { asForgeUnreachable, ForgeUnreachable } from './forge-unreachable.ts'
import { findCatalogued, keyOfName } from './repository-store.ts'
import {
  forgeIdOf,
  lastAnswer,
  type Removal,
  recordRightsCheck,
  replaceRights,
} from './rights-store.ts'
import { refreshRepositories } from './sync.ts'

export interface RightsParts {
  db: Db
  /** Absent where the repositories are not at hand. */
  source: Source | undefined
  /** Rejects with WaitUntil or ForgeRefused. */
  readRights(person: KnownPerson, signal: AbortSignal): Promise<ForgeRights>
  catalogue: Pick<ForgeCatalogue, 'ofOrganization' | 'organization' | 'organizations'>
  now: () => number
  warn(message: string): void
}

export interface RightsAge {
  /** The forge is not asked where it said so less long ago. */
  fresh: number
  /** Where it does not answer, what it said less long ago still holds. */
  usable: number
}

export interface RightsRefresher {
  /**
   * Asks the forge what the account may do. Of an organization: which repositories it has. Rejects with ForgeUnreachable where the forge
   * does not answer and what it said last is too old, and with AccountRemoved if it said last that it deleted or suspended the
   * account. `wanted` are repositories that may be new to the catalogue.
   */
  refresh(account: Account, age: RightsAge, wanted?: readonly RepositoryName[]): Promise<void>
}

/** The forge has deleted or suspended the account: nothing may be done with it or for it. */
export class AccountRemoved extends Error {
  override name = 'AccountRemoved'

  constructor({ login }: Account, removal: Removal) {
    super(`${login} is ${removal === 'deleted' ? 'no longer' : removal} on the forge`)
  }
}

/** For callers to whom the removal of the account makes no difference. */
export function ignoreRemoval(error: unknown): void {
  if (!(error instanceof AccountRemoved)) throw error
}

const MINUTE_MS = 60_000
/** Before something is begun. */
export const FRESH: RightsAge = { fresh: 0, usable: MINUTE_MS }
/** While something goes on. */
export const RECENT: RightsAge = { fresh: MINUTE_MS, usable: MINUTE_MS }
/** For what is only shown. */
export const STORED: RightsAge = { fresh: MINUTE_MS - 10_000, usable: Number.POSITIVE_INFINITY }

const DEADLINE_MS = 20_000
const WARNED_EVERY_MS = MINUTE_MS
const MAX_SILENCE_MS = 10_000

export function rightsRefresher(parts: RightsParts): RightsRefresher {
  const { db, now, warn } = parts
  let warnedAt = Number.NEGATIVE_INFINITY
  const silences = new Map<number, ForgeUnreachable>()

  function tell(message: string): void {
    if (Math.abs(now() - warnedAt) < WARNED_EVERY_MS) return
    warnedAt = now()
    warn(message)
  }

  async function ask(
    account: Account,
    wanted: readonly RepositoryName[],
  ): Promise<Removal | undefined> {
    const askedAt = now()
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const forgeId = await forgeIdOf(db, account)
    if (account.type === 'Organization')
      return askOrganization(parts, account, { forgeId, askedAt, signal })
    const rights = await parts.readRights({ login: account.login, id: forgeId }, signal)
    const answer = { rights, forgeId, askedAt, wanted }
    const { refused, removal } = await keepRights(parts, account, answer)
    for (const login of refused) tell(`${login} is an organization there, and a user here`)
    return removal
  }

  async function refresh(account: Account, age: RightsAge, wanted: readonly RepositoryName[] = []) {
    const removal = await askIfOld(account, age, wanted)
    if (removal) throw new AccountRemoved(account, removal)
  }

  async function askIfOld(account: Account, age: RightsAge, wanted: readonly RepositoryName[]) {
    const { askedAt, removal } = await lastAnswer(db, account)
    const said = Math.abs(now() - askedAt)
    if (said < age.fresh) return removal
    // A forge that did not answer is left alone for a while: nobody waits for it in vain.
    const last = silences.get(account.id)
    const pauseMs = last ? last.retryAt - now() : 0
    // A longer pause than any was noted before the clock was put back.
    const isLeftAlone = last && pauseMs > 0 && pauseMs <= MAX_SILENCE_MS
    const answer = isLeftAlone ? last : await orSilence(ask(account, wanted))
    if (!(answer instanceof ForgeUnreachable)) {
      silences.delete(account.id)
      return answer
    }
    silences.set(account.id, answer)
    if (said >= age.usable) throw answer
    return removal
  }

  async function orSilence(asked: Promise<Removal | undefined>) {
    try {
      return await asked
    } catch (error) {
      const away = asForgeUnreachable(error, now())
      if (!(away instanceof ForgeUnreachable)) throw away
      tell(away.message)
      return new ForgeUnreachable(Math.min(away.retryAt, now() + MAX_SILENCE_MS), away.message, {
        cause: error,
      })
    }
  }

  return { refresh: oneAtATime(refresh) }
}

/** Asks about each account one question after another. */
function oneAtATime(refresh: RightsRefresher['refresh']): RightsRefresher['refresh'] {
  const underway = new Map<number, { age: RightsAge; asked: Promise<void> }>()
  return async (account, age, wanted = []) => {
    // An answer that is under way may be older than the question.
    await underway.get(account.id)?.asked.catch(() => {})
    for (let other = underway.get(account.id); other; other = underway.get(account.id)) {
      // Begun since, and as strict: its answer is good here too.
      if (other.age === age && wanted.length === 0) return other.asked
      await other.asked.catch(() => {})
    }
    const mine = { age, asked: refresh(account, age, wanted) }
    underway.set(account.id, mine)
    return mine.asked.finally(() => {
      if (underway.get(account.id) === mine) underway.delete(account.id)
    })
  }
}

interface OrganizationQuestion {
  forgeId: number | null
  askedAt: number
  signal: AbortSignal
}

/** Asks which repositories an organization has. One that was renamed on the forge is found by its number. */
async function askOrganization(
  { db, catalogue }: RightsParts,
  account: Account,
  { forgeId, askedAt, signal }: OrganizationQuestion,
): Promise<Removal | undefined> {
  const named = await catalogue.organization(account.login, signal)
  const isNamed = forgeId === null || named?.id === forgeId
  const own = isNamed
    ? named
    : (await catalogue.organizations(signal)).find(({ id }) => id === forgeId)
  if (own) {
    const repositories = await catalogue.ofOrganization(own.login, signal)
    await upsertForgeRepositories(db, repositories, askedAt)
  }
  const removal = forgeId !== null && !own ? 'deleted' : undefined
  await db.transaction().execute(async (tx) => {
    if (own) await accountOfForgeOrganization(tx, { ...own, createdAt: askedAt })
    else if (named) await giveUpLogin(tx, account)
    await recordRightsCheck(tx, account, { askedAt, removal })
  })
  return removal
}

interface Answer {
  rights: ForgeRights
  forgeId: number | null
  askedAt: number
  wanted: readonly RepositoryName[]
}

async function keepRights(
  { db, source, now }: RightsParts,
  account: Account,
  { rights, forgeId, askedAt, wanted }: Answer,
): Promise<{ refused: string[]; removal: Removal | undefined }> {
  const { person, repositories } = rights
  await upsertForgeRepositories(db, repositories.map(withoutPermission), askedAt)
  // What is new to the catalogue is to have its row before a right to it is written.
  const named = new Set(wanted.map(keyOfName))
  const news = repositories.filter(
    (each) => named.has(keyOfName(each)) && isName(each.owner) && isName(each.name),
  )
  if (source && news.length > 0)
    await refreshRepositories({ db, source, now }, news, await findCatalogued(db, news))
  return db.transaction().execute(async (tx) => {
    const isOther = forgeId !== null && person !== undefined && person.id !== forgeId
    const removal = forgeId === null ? undefined : removalOf(rights, isOther)
    if (isOther) {
      // The login is somebody else's by now: the account that had it gets another, and keeps no right.
      await giveUpLogin(tx, account)
      await recordRightsCheck(tx, account, { askedAt, removal })
      return { refused: [], removal }
    }
    // Who was renamed on the forge is renamed here.
    const login = person?.login ?? account.login
    if (forgeId !== null && person && keyOf(login) !== keyOf(account.login))
      await accountOfForgeUser(tx, person)
    const kept = await replaceRights(tx, { ...account, login }, { ...rights, removal }, askedAt)
    return { ...kept, removal }
  })
}

function removalOf({ person, isSuspended }: ForgeRights, isOther: boolean): Removal | undefined {
  if (!person || isOther) return 'deleted'
  return isSuspended ? 'suspended' : undefined
}

const withoutPermission = ({ permission: _, ...repository }: ForgeRights['repositories'][number]) =>
  repository
