import type { Account } from '../accounts/account.ts'
import { accountOfForgeUser } from '../accounts/forge-account.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../ground/names.ts'
import type { ForgeCatalogue, ForgeRights } from '../sources/forge/connect-forge.ts'
import type { RepositoryName, Source } from '../sources/source.ts'
import { ForgeAway, forgeAway } from './forge-away.ts'
import { putSaidRepositories } from './forge-repository-store.ts'
import { findCatalogued, keyOfName } from './repository-store.ts'
import { forgeIdOf, noteAsked, replaceRights, rightsAskedAt } from './rights-store.ts'
import { refreshRepositories } from './sync.ts'

export interface RightsParts {
  db: Db
  /** Absent where the repositories are not at hand. */
  source: Source | undefined
  /** Rejects with WaitUntil or ForgeRefused. */
  readRights(login: string, signal: AbortSignal): Promise<ForgeRights>
  catalogue: Pick<ForgeCatalogue, 'ofOrganization'>
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
   * Asks the forge what the account may do. Of an organization: which repositories it has. Rejects with ForgeAway where the forge
   * does not answer and what it said last is too old. `wanted` are repositories that may be new to the catalogue. Where the forge
   * was asked and says that the account is no longer one of its own, that is the answer.
   */
  refresh(
    account: Account,
    age: RightsAge,
    wanted?: readonly RepositoryName[],
  ): Promise<Removal | undefined>
}

/** Deleted on the forge, or called otherwise there; or not allowed to sign in there. */
export type Removal = 'deleted' | 'suspended'

const MINUTE_MS = 60_000
/** Before something is begun. */
export const ASKED_NOW: RightsAge = { fresh: 0, usable: MINUTE_MS }
/** While something goes on. */
export const ASKED_LATELY: RightsAge = { fresh: MINUTE_MS, usable: MINUTE_MS }
/** For what is only shown. */
export const LAST_SAID: RightsAge = { fresh: MINUTE_MS - 10_000, usable: Number.POSITIVE_INFINITY }

const DEADLINE_MS = 20_000
const WARNED_EVERY_MS = MINUTE_MS
const MAX_SILENCE_MS = 10_000

export function rightsRefresher(parts: RightsParts): RightsRefresher {
  const { db, catalogue, now, warn } = parts
  let warnedAt = Number.NEGATIVE_INFINITY
  const silences = new Map<number, ForgeAway>()

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
    if (account.type === 'Organization') {
      const repositories = await catalogue.ofOrganization(account.login, signal)
      await putSaidRepositories(db, repositories, askedAt)
      await noteAsked(db, account, askedAt)
      return undefined
    }
    const rights = await parts.readRights(account.login, signal)
    const { refused, removal } = await keepRights(parts, account, { rights, askedAt, wanted })
    for (const login of refused) tell(`${login} is an organization there, and a user here`)
    return removal
  }

  async function refresh(account: Account, age: RightsAge, wanted: readonly RepositoryName[] = []) {
    const said = Math.abs(now() - (await rightsAskedAt(db, account)))
    if (said < age.fresh) return undefined
    // A forge that did not answer is left alone for a while: nobody waits for it in vain.
    const last = silences.get(account.id)
    const pauseMs = last ? last.retryAt - now() : 0
    // A longer pause than any was noted before the clock was put back.
    const isLeftAlone = last && pauseMs > 0 && pauseMs <= MAX_SILENCE_MS
    const answer = isLeftAlone ? last : await orSilence(ask(account, wanted))
    if (!(answer instanceof ForgeAway)) {
      silences.delete(account.id)
      return answer
    }
    silences.set(account.id, answer)
    if (said >= age.usable) throw answer
    return undefined
  }

  async function orSilence(asked: Promise<Removal | undefined>) {
    try {
      return await asked
    } catch (error) {
      const away = forgeAway(error, now())
      if (!(away instanceof ForgeAway)) throw away
      tell(away.message)
      return new ForgeAway(Math.min(away.retryAt, now() + MAX_SILENCE_MS), away.message, {
        cause: error,
      })
    }
  }

  return { refresh: oneAtATime(refresh) }
}

/** Asks about each account one question after another. */
function oneAtATime(refresh: RightsRefresher['refresh']): RightsRefresher['refresh'] {
  const underway = new Map<number, { age: RightsAge; asked: Promise<Removal | undefined> }>()
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

interface Answer {
  rights: ForgeRights
  askedAt: number
  wanted: readonly RepositoryName[]
}

async function keepRights(
  { db, source, now }: RightsParts,
  account: Account,
  { rights, askedAt, wanted }: Answer,
): Promise<{ refused: string[]; removal: Removal | undefined }> {
  const { person, repositories } = rights
  await putSaidRepositories(db, repositories.map(withoutPermission), askedAt)
  // What is new to the catalogue is to have its row before a right to it is written.
  const named = new Set(wanted.map(keyOfName))
  const news = repositories.filter(
    (each) => named.has(keyOfName(each)) && isName(each.owner) && isName(each.name),
  )
  if (source && news.length > 0)
    await refreshRepositories({ db, source, now }, news, await findCatalogued(db, news))
  const forgeId = await forgeIdOf(db, account)
  return db.transaction().execute(async (tx) => {
    const isOther = forgeId !== null && person !== undefined && person.id !== forgeId
    const removal = forgeId === null ? undefined : removalOf(rights, isOther)
    if (!isOther) return { ...(await replaceRights(tx, account, rights, askedAt)), removal }
    // The login is somebody else's by now: the account that had it gets another, and keeps no right.
    await accountOfForgeUser(tx, person)
    const none = { repositories: [], organizations: [] }
    return { ...(await replaceRights(tx, account, none, askedAt)), removal }
  })
}

function removalOf({ person, isSuspended }: ForgeRights, isOther: boolean): Removal | undefined {
  if (!person || isOther) return 'deleted'
  return isSuspended ? 'suspended' : undefined
}

const withoutPermission = ({ permission: _, ...repository }: ForgeRights['repositories'][number]) =>
  repository
