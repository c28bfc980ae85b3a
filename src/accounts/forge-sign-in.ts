import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '../db/database.ts'
import { hasExpired } from '../db/lease-store.ts'
import type { Account } from './account.ts'
import { accountOfForgeUser, type ForgeOwner } from './forge-account.ts'
import { digestOf } from './token-store.ts'

/** The forge cannot be asked about a token at the moment. The token may still be valid. */
export class SignInUnavailable extends Error {
  override name = 'SignInUnavailable'
  /** Epoch milliseconds. */
  readonly retryAt: number

  constructor(retryAt: number, message: string) {
    super(message)
    this.retryAt = retryAt
  }
}

interface SignInParts {
  db: Db
  /** Asks the forge who owns a token. Resolves to undefined if the forge rejects the token; rejects with SignInUnavailable. */
  askForge(token: string): Promise<ForgeOwner | undefined>
  /** Called whenever the forge has accepted a token, before the sign-in succeeds. */
  onSignedIn?(account: Account): Promise<void>
  now: () => number
  /** Logs a warning for the operator. */
  warn(message: string): void
}

export interface ForgeSignIn {
  /**
   * Returns whether the forge accepts a token. Its answer may be a minute old. Rejects with SignInUnavailable. If `mayAskNew` is
   * false, the forge is not asked about a token that it has never accepted, so that guessing tokens does not load the forge.
   */
  isValid(token: string, mayAskNew: boolean): Promise<boolean>
}

/** Personal tokens of Gitea and Forgejo are 40 hexadecimal digits; those of applications are longer and have dots. */
const SHAPE = /^(?!gwt_)[\w.-]{20,2048}$/

/** Returns whether the forge may know the token. A mistyped token of Godwit must not be sent there. */
export const mayBeForgeToken = (token: string): boolean => SHAPE.test(token)

const MAX_CONCURRENT_CHECKS = 32
/** After a failure, the forge is not asked again for this long. */
const PAUSE_MS = 3000
const POLL_INTERVAL_MS = 50
const MAX_WAIT_MS = 8000

export function forgeSignIn(parts: SignInParts): ForgeSignIn {
  const { db, now } = parts
  const pending = new Map<string, Promise<boolean>>()
  let unavailableUntil = 0
  let sweptAt = Number.NEGATIVE_INFINITY
  let warnedAt = Number.NEGATIVE_INFINITY

  function noteFailure(error: SignInUnavailable): void {
    unavailableUntil = Math.min(Math.max(error.retryAt, now() + PAUSE_MS), now() + MINUTE_MS)
    if (now() < warnedAt + MINUTE_MS) return
    warnedAt = now()
    parts.warn(error.message)
  }

  async function ask(token: string, digest: string): Promise<boolean> {
    const askedAt = now()
    try {
      const user = await parts.askForge(token)
      const account = user && (await findOrCreateAccount(parts, user))
      if (account) await parts.onSignedIn?.(account)
      await storeAnswer(db, { digest, account, askedAt })
      return account !== undefined
    } catch (error) {
      if (error instanceof SignInUnavailable) noteFailure(error)
      await recordTokenCheck(db, digest, 'unknown', now() + PAUSE_MS)
      throw error
    }
  }

  async function check(token: string, digest: string, mayAskNew: boolean): Promise<boolean> {
    const known = await findTokenCheck(db, digest)
    const isOutdated = !known || known.nextAt <= now() || known.nextAt > now() + 2 * MINUTE_MS
    if (!isOutdated) return awaitAnswer(db, digest, now)
    if (!mayAskNew && !(await wasAcceptedByForge(db, digest))) return false
    if (unavailableUntil > now())
      throw new SignInUnavailable(unavailableUntil, 'the forge did not answer')
    if (pending.size > MAX_CONCURRENT_CHECKS)
      throw new SignInUnavailable(now() + PAUSE_MS, 'too many tokens to ask the forge about')
    if (!(await claimTokenCheck(db, digest, now()))) return awaitAnswer(db, digest, now)
    const isValid = await ask(token, digest)
    if (sweptAt + MINUTE_MS <= now()) {
      sweptAt = now()
      await deleteOldTokenChecks(db, now())
    }
    return isValid
  }

  return {
    isValid(token, mayAskNew) {
      const digest = digestOf(token)
      const running = pending.get(digest)
      if (running) return running
      const answer = check(token, digest, mayAskNew).finally(() => pending.delete(digest))
      pending.set(digest, answer)
      return answer
    },
  }
}

async function findOrCreateAccount(
  { db, warn }: SignInParts,
  user: ForgeOwner,
): Promise<Account | undefined> {
  const found = await db.transaction().execute((tx) => accountOfForgeUser(tx, user))
  if ('id' in found) return found
  warn(`${user.login} cannot sign in with a token of the forge: ${found.refusal}`)
  return undefined
}

/** Stores the answer of the forge. Until then, the previous answer applies. */
async function storeAnswer(
  db: Db,
  { digest, account, askedAt }: { digest: string; account: Account | undefined; askedAt: number },
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    if (account) await storeForgeToken(tx, { digest, accountId: account.id, askedAt })
    else await expireForgeToken(tx, digest, askedAt)
    await recordTokenCheck(tx, digest, account ? 'good' : 'refused', askedAt + MINUTE_MS)
  })
}

/** Waits, by polling the row, until another request or process has the answer of the forge. */
async function awaitAnswer(db: Db, digest: string, now: () => number): Promise<boolean> {
  const deadline = performance.now() + MAX_WAIT_MS
  for (;;) {
    const tokenCheck = await findTokenCheck(db, digest)
    if (tokenCheck && tokenCheck.answer !== 'asking') {
      if (tokenCheck.answer !== 'unknown') return tokenCheck.answer === 'good'
      throw new SignInUnavailable(tokenCheck.nextAt, 'the forge did not answer')
    }
    if (!tokenCheck || performance.now() > deadline)
      throw new SignInUnavailable(now() + PAUSE_MS, 'the forge did not answer')
    await sleep(POLL_INTERVAL_MS)
  }
}

export const MINUTE_MS = 60_000
/** A process that has asked the forge for longer than this has died. */
const MAX_ASKING_MS = 10_000
/** A token that was not used for this long is deleted. If it is used again, the forge is asked about it again. */
const MAX_UNUSED_MS = 30 * 24 * 60 * MINUTE_MS

/** Claims the check of a token. Returns false if any process asked the forge within the last minute, or is asking now. */
async function claimTokenCheck(db: Db, digest: string, now: number): Promise<boolean> {
  const asking = { answer: 'asking', next_at: now + MAX_ASKING_MS }
  const row = await db
    .insertInto('forge_questions')
    .values({ digest, ...asking })
    .onConflict((same) =>
      same
        .column('digest')
        .doUpdateSet(asking)
        .where(hasExpired('forge_questions.next_at', { now, maxTtlMs: MINUTE_MS })),
    )
    .returning('digest')
    .executeTakeFirst()
  return row !== undefined
}

async function recordTokenCheck(
  db: Db,
  digest: string,
  answer: TokenCheck['answer'],
  nextAt: number,
): Promise<void> {
  await db
    .updateTable('forge_questions')
    .set({ answer, next_at: nextAt })
    .where('digest', '=', digest)
    .execute()
}

interface TokenCheck {
  /** `unknown` if the forge did not respond. */
  answer: 'good' | 'refused' | 'unknown' | 'asking'
  nextAt: number
}

async function findTokenCheck(db: Db, digest: string): Promise<TokenCheck | undefined> {
  const row = await db
    .selectFrom('forge_questions')
    .selectAll()
    .where('digest', '=', digest)
    .executeTakeFirst()
  return row && { answer: row.answer as TokenCheck['answer'], nextAt: row.next_at }
}

/** Stores a token of the forge as valid for a minute. If an operator revoked it here, it stays revoked. */
export async function storeForgeToken(
  tx: Db,
  { digest, accountId, askedAt }: { digest: string; accountId: number; askedAt: number },
): Promise<void> {
  const validity = { account_id: accountId, asked_at: askedAt, expires_at: askedAt + MINUTE_MS }
  await tx
    .insertInto('tokens')
    .values({
      digest,
      name: 'token of the forge',
      created_at: askedAt,
      last_used_at: null,
      revoked_at: null,
      ...validity,
    })
    .onConflict((same) => same.column('digest').doUpdateSet(validity))
    .execute()
}

/** Returns whether the forge has ever accepted the token. */
async function wasAcceptedByForge(db: Db, digest: string): Promise<boolean> {
  const row = await db
    .selectFrom('tokens')
    .select('id')
    .where('digest', '=', digest)
    .where('asked_at', 'is not', null)
    .executeTakeFirst()
  return row !== undefined
}

/** Expires a token that the forge rejected. */
export async function expireForgeToken(tx: Db, digest: string, askedAt: number): Promise<void> {
  await tx
    .updateTable('tokens')
    .set({ asked_at: askedAt, expires_at: askedAt })
    .where('digest', '=', digest)
    .where('asked_at', 'is not', null)
    .execute()
}

async function deleteOldTokenChecks(db: Db, now: number): Promise<void> {
  await db
    .deleteFrom('forge_questions')
    .where('next_at', '<', now - MINUTE_MS)
    .execute()
  await db
    .deleteFrom('tokens')
    .where('asked_at', '<', now - MAX_UNUSED_MS)
    // A token that was revoked here must stay revoked, whatever the forge says.
    .where('revoked_at', 'is', null)
    .execute()
}
