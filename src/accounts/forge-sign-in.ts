import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/database.ts'
import type { Account } from './account.ts'
import { accountOfForgeUser, type ForgeOwner } from './forge-account.ts'
import {
  claimTokenCheck,
  deleteOldTokenChecks,
  expireForgeToken,
  findTokenCheck,
  MINUTE_MS,
  recordTokenCheck,
  storeForgeToken,
  wasAcceptedByForge,
} from './forge-token-store.ts'
import { digestOf } from './token.ts'

/** Whose a token of the forge is cannot be told now. Nothing is known against it. */
export class ForgeUnavailable extends Error {
  override name = 'ForgeUnavailable'
  /** Epoch milliseconds. */
  readonly retryAt: number

  constructor(retryAt: number, message: string, options?: ErrorOptions) {
    super(message, options)
    this.retryAt = retryAt
  }
}

export interface SignInParts {
  db: Db
  /** Asks the forge who owns a token. Resolves to undefined if the forge rejects the token; rejects with ForgeUnavailable. */
  askForge(token: string): Promise<ForgeOwner | undefined>
  /** Called whenever the forge has said that a token is good, before its owner is let in. */
  onSignedIn?(account: Account): Promise<void>
  now: () => number
  /** Called with what an operator should know. */
  warn(message: string): void
}

export interface ForgeSignIn {
  /**
   * Whether it is a good token of the forge, by an answer that is a minute old at most. Rejects with ForgeUnavailable. A token that
   * never was good is not asked about where `mayAskNew` is false: whoever tries many of them is not to ask the forge for each.
   */
  isGood(token: string, mayAskNew: boolean): Promise<boolean>
}

/** Personal tokens of Gitea and Forgejo are 40 hexadecimal digits; those of applications are longer and have dots. */
const SHAPE = /^(?!gwt_)[\w.-]{20,2048}$/

/** A token of ours with a slip in it is not sent to anybody. */
export const mayBeForgeToken = (token: string): boolean => SHAPE.test(token)

const MAX_ASKED_AT_ONCE = 32
/** A forge that does not answer is left alone for so long. */
const PAUSE_MS = 3000
const LOOKED_EVERY_MS = 50
const WAITED_MS = 8000

export function forgeSignIn(parts: SignInParts): ForgeSignIn {
  const { db, now } = parts
  const underway = new Map<string, Promise<boolean>>()
  let silentUntil = 0
  let forgotAt = Number.NEGATIVE_INFINITY
  let warnedAt = Number.NEGATIVE_INFINITY

  function noteSilence(silent: ForgeUnavailable): void {
    silentUntil = Math.min(Math.max(silent.retryAt, now() + PAUSE_MS), now() + MINUTE_MS)
    if (now() < warnedAt + MINUTE_MS) return
    warnedAt = now()
    parts.warn(silent.message)
  }

  async function ask(token: string, digest: string): Promise<boolean> {
    const askedAt = now()
    try {
      const user = await parts.askForge(token)
      const account = user && (await findOrMakeAccount(parts, user))
      if (account) await parts.onSignedIn?.(account)
      await keepAnswer(db, { digest, account, askedAt })
      return account !== undefined
    } catch (error) {
      if (error instanceof ForgeUnavailable) noteSilence(error)
      await recordTokenCheck(db, digest, 'unknown', now() + PAUSE_MS)
      throw error
    }
  }

  async function settle(token: string, digest: string, mayAskNew: boolean): Promise<boolean> {
    const known = await findTokenCheck(db, digest)
    const isOver = !known || known.nextAt <= now() || known.nextAt > now() + 2 * MINUTE_MS
    if (!isOver) return awaitAnswer(db, digest, now)
    if (!mayAskNew && !(await wasAcceptedByForge(db, digest))) return false
    if (silentUntil > now()) throw new ForgeUnavailable(silentUntil, 'the forge did not answer')
    if (underway.size > MAX_ASKED_AT_ONCE)
      throw new ForgeUnavailable(now() + PAUSE_MS, 'too many tokens to ask the forge about')
    if (!(await claimTokenCheck(db, digest, now()))) return awaitAnswer(db, digest, now)
    const isGood = await ask(token, digest)
    if (forgotAt + MINUTE_MS <= now()) {
      forgotAt = now()
      await deleteOldTokenChecks(db, now())
    }
    return isGood
  }

  return {
    isGood(token, mayAskNew) {
      const digest = digestOf(token)
      const asked = underway.get(digest)
      if (asked) return asked
      const answer = settle(token, digest, mayAskNew).finally(() => underway.delete(digest))
      underway.set(digest, answer)
      return answer
    },
  }
}

async function findOrMakeAccount(
  { db, warn }: SignInParts,
  user: ForgeOwner,
): Promise<Account | undefined> {
  const found = await db.transaction().execute((tx) => accountOfForgeUser(tx, user))
  if ('id' in found) return found
  warn(`${user.login} cannot sign in with a token of the forge: ${found.refusal}`)
  return undefined
}

/** The token is good from here on, or not; until then what was said of it before holds. */
async function keepAnswer(
  db: Db,
  { digest, account, askedAt }: { digest: string; account: Account | undefined; askedAt: number },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (account) await storeForgeToken(tx, { digest, accountId: account.id, askedAt })
    else await expireForgeToken(tx, digest, askedAt)
    await recordTokenCheck(tx, digest, account ? 'good' : 'refused', askedAt + MINUTE_MS)
  })
}

/** What somebody else was told, or will be: the row is looked at until it says. */
async function awaitAnswer(db: Db, digest: string, now: () => number): Promise<boolean> {
  const giveUpAt = performance.now() + WAITED_MS
  for (;;) {
    const question = await findTokenCheck(db, digest)
    if (question && question.answer !== 'asking') {
      if (question.answer !== 'unknown') return question.answer === 'good'
      throw new ForgeUnavailable(question.nextAt, 'the forge did not answer')
    }
    if (!question || performance.now() > giveUpAt)
      throw new ForgeUnavailable(now() + PAUSE_MS, 'the forge did not answer')
    await sleep(LOOKED_EVERY_MS)
  }
}
