import { setTimeout as sleep } from 'node:timers/promises'
import { type Db, hasRow } from '../db/database.ts'
import { hasExpired } from '../db/lease-store.ts'
import type { Account } from './account.ts'
import { accountOfForgeUser, type ForgeOwner } from './account-store.ts'
import { digestOf } from './token-store.ts'

/** The forge cannot check a token at the moment. The token may still be valid. */
export class SignInUnavailable extends Error {
  override name = 'SignInUnavailable'
  /** Epoch milliseconds. */
  readonly retryAt: number

  constructor(retryAt: number, message: string) {
    super(message)
    this.retryAt = retryAt
  }
}

/** The forge lets the token read less than its owner. `message` is for the owner of the token. */
export class ForgeTokenRefused extends Error {
  override name = 'ForgeTokenRefused'
}

interface ForgeSignInDependencies {
  db: Db
  /**
   * Requests the owner of a token from the forge; undefined if the forge rejects the token. Rejects with SignInUnavailable, or with
   * ForgeTokenRefused.
   */
  readTokenOwner(token: string): Promise<ForgeOwner | undefined>
  /**
   * Called whenever the forge has accepted a token, before the sign-in succeeds. Rejects with ForgeTokenRefused if the token may read
   * less than the account, and with SignInUnavailable.
   */
  onSignedIn?(account: Account, token: string): Promise<void>
  now: () => number
  /** Logs a warning for the operator. */
  warn(message: string): void
}

export interface ForgeSignIn {
  /**
   * Returns whether the forge accepts a token; the result may be a minute old. Stores an accepted token, and creates the account
   * of its owner. Rejects with SignInUnavailable, or with ForgeTokenRefused. If `mayCheckNew` is false, a token that the forge has never
   * accepted is rejected without a request, so that guessing tokens does not load the forge.
   */
  checkToken(token: string, options: { mayCheckNew: boolean }): Promise<boolean>
}

/** Personal tokens of Gitea and Forgejo are 40 hexadecimal digits; those of applications are longer and have dots. */
const SHAPE = /^(?!gw[ct]_)[\w.-]{20,2048}$/

/** Returns whether the forge may have issued the token. A mistyped token or a clone token of Godwit must not be sent there. */
export const mayBeForgeToken = (token: string): boolean => SHAPE.test(token)

const MAX_CONCURRENT_CHECKS = 32
/** After a failure, nothing is requested from the forge for this long. */
const PAUSE_MS = 3000
const POLL_INTERVAL_MS = 50
const MAX_WAIT_MS = 8000

export function forgeSignIn(dependencies: ForgeSignInDependencies): ForgeSignIn {
  const { db, now } = dependencies
  const pending = new Map<string, Promise<boolean>>()
  let unavailableUntil = 0
  let sweptAt = Number.NEGATIVE_INFINITY
  let warnedAt = Number.NEGATIVE_INFINITY

  function noteFailure(error: SignInUnavailable): void {
    unavailableUntil = Math.min(Math.max(error.retryAt, now() + PAUSE_MS), now() + MINUTE_MS)
    if (Math.abs(now() - warnedAt) < MINUTE_MS) return
    warnedAt = now()
    dependencies.warn(error.message)
  }

  async function checkWithForge(token: string, digest: string): Promise<boolean> {
    const checkedAt = now()
    try {
      const user = await dependencies.readTokenOwner(token)
      const account = user && (await findOrCreateAccount(dependencies, user))
      if (account) await dependencies.onSignedIn?.(account, token)
      await db.transaction().execute(async (tx) => {
        if (account) await storeForgeToken(tx, { digest, accountId: account.id, checkedAt })
        else await expireForgeToken(tx, digest, checkedAt)
        const result = account ? 'accepted' : 'rejected'
        await recordTokenCheck(tx, digest, { result, checkAgainAt: checkedAt + MINUTE_MS })
      })
      return account !== undefined
    } catch (error) {
      if (error instanceof ForgeTokenRefused) await recordRefusal(digest, error.message, checkedAt)
      else {
        if (error instanceof SignInUnavailable) noteFailure(error)
        await recordTokenCheck(db, digest, { result: 'unknown', checkAgainAt: now() + PAUSE_MS })
      }
      throw error
    }
  }

  const recordRefusal = (digest: string, refusal: string, checkedAt: number) =>
    db.transaction().execute(async (tx) => {
      await expireForgeToken(tx, digest, checkedAt)
      const checkAgainAt = checkedAt + MINUTE_MS
      await recordTokenCheck(tx, digest, { result: 'refused', refusal, checkAgainAt })
    })

  async function check(token: string, digest: string, mayCheckNew: boolean): Promise<boolean> {
    const last = await findTokenCheck(db, digest)
    if (last && isCurrent(last.checkAgainAt, now())) return waitForResult(db, digest, now)
    if (!mayCheckNew && !(await wasAcceptedByForge(db, digest))) return false
    if (isCurrent(unavailableUntil, now()))
      throw new SignInUnavailable(unavailableUntil, 'the forge did not respond')
    if (pending.size > MAX_CONCURRENT_CHECKS)
      throw new SignInUnavailable(now() + PAUSE_MS, 'too many tokens are being checked')
    if (!(await claimTokenCheck(db, digest, now()))) return waitForResult(db, digest, now)
    const isAccepted = await checkWithForge(token, digest)
    if (Math.abs(now() - sweptAt) >= MINUTE_MS) {
      sweptAt = now()
      await deleteOldChecksAndTokens(db, now())
    }
    return isAccepted
  }

  return {
    checkToken(token, { mayCheckNew }) {
      const digest = digestOf(token)
      const running = pending.get(digest)
      if (running) return running
      const result = check(token, digest, mayCheckNew).finally(() => pending.delete(digest))
      pending.set(digest, result)
      return result
    },
  }
}

async function findOrCreateAccount({ db, warn }: ForgeSignInDependencies, user: ForgeOwner) {
  const found = await db.transaction().execute((tx) => accountOfForgeUser(tx, user))
  if ('id' in found) return found
  warn(`${user.login} cannot sign in with a token of the forge: ${found.refusal}`)
  return undefined
}

/**
 * Returns the stored result of a check. If a process is checking the token, waits for its result. Throws ForgeTokenRefused if that is
 * the result, and SignInUnavailable if it takes too long, or if the forge did not respond.
 */
async function waitForResult(db: Db, digest: string, now: () => number): Promise<boolean> {
  const deadline = performance.now() + MAX_WAIT_MS
  for (;;) {
    const last = await findTokenCheck(db, digest)
    if (last && last.result !== 'checking') {
      if (last.result === 'refused') throw new ForgeTokenRefused(last.refusal ?? '')
      if (last.result !== 'unknown') return last.result === 'accepted'
      throw new SignInUnavailable(last.checkAgainAt, 'the forge did not respond')
    }
    if (!last || performance.now() > deadline)
      throw new SignInUnavailable(now() + PAUSE_MS, 'the forge did not respond')
    await sleep(POLL_INTERVAL_MS)
  }
}

export const MINUTE_MS = 60_000

/** Whether a response of the forge that applies until then still does. A time far ahead was stored while the clock was wrong. */
export const isCurrent = (until: number, now: number): boolean =>
  until > now && until <= now + 2 * MINUTE_MS

/** A process that has checked a token for longer than this has died. */
const MAX_CHECK_MS = 10_000
/** A token of the forge that was not used for this long is deleted. If it is used again, it is treated as new. */
const MAX_UNUSED_MS = 30 * 24 * 60 * MINUTE_MS

/** Claims the check of a token. Returns false if any process checked it within the last minute, or is checking it now. */
async function claimTokenCheck(db: Db, digest: string, now: number): Promise<boolean> {
  const checking = { result: 'checking', check_again_at: now + MAX_CHECK_MS }
  const claim = db
    .insertInto('forge_token_checks')
    .values({ digest, ...checking })
    .onConflict((oc) =>
      oc
        .column('digest')
        .doUpdateSet(checking)
        .where(hasExpired('forge_token_checks.check_again_at', { now, maxTtlMs: MINUTE_MS })),
    )
    .returning('digest')
  return hasRow(claim)
}

interface TokenCheck {
  result: TokenCheckResult
  /** Why the result is `refused`. */
  refusal?: string
  checkAgainAt: number
}

async function recordTokenCheck(
  db: Db,
  digest: string,
  { result, refusal, checkAgainAt }: TokenCheck,
): Promise<void> {
  await db
    .updateTable('forge_token_checks')
    .set({ result, refusal: refusal ?? null, check_again_at: checkAgainAt })
    .where('digest', '=', digest)
    .execute()
}

/** `unknown` if the forge did not respond. */
type TokenCheckResult = 'accepted' | 'rejected' | 'refused' | 'unknown' | 'checking'

const findTokenCheck = (db: Db, digest: string) =>
  db
    .selectFrom('forge_token_checks')
    .select(['result', 'refusal', 'check_again_at as checkAgainAt'])
    .$narrowType<{ result: TokenCheckResult }>()
    .where('digest', '=', digest)
    .executeTakeFirst()

/** Stores a token of the forge as valid for a minute. If an operator revoked it here, it stays revoked. */
export async function storeForgeToken(
  tx: Db,
  { digest, accountId, checkedAt }: { digest: string; accountId: number; checkedAt: number },
): Promise<void> {
  const validity = {
    account_id: accountId,
    forge_checked_at: checkedAt,
    expires_at: checkedAt + MINUTE_MS,
  }
  await tx
    .insertInto('tokens')
    .values({
      digest,
      kind: 'forge',
      name: 'token of the forge',
      created_at: checkedAt,
      ...validity,
    })
    .onConflict((oc) => oc.column('digest').doUpdateSet(validity))
    .execute()
}

function wasAcceptedByForge(db: Db, digest: string): Promise<boolean> {
  const query = db.selectFrom('tokens').select('id').where('digest', '=', digest)
  return hasRow(query.where('kind', '=', 'forge'))
}

export async function expireForgeToken(tx: Db, digest: string, checkedAt: number): Promise<void> {
  await tx
    .updateTable('tokens')
    .set({ forge_checked_at: checkedAt, expires_at: checkedAt })
    .where('digest', '=', digest)
    .where('kind', '=', 'forge')
    .execute()
}

async function deleteOldChecksAndTokens(db: Db, now: number): Promise<void> {
  await db
    .deleteFrom('forge_token_checks')
    .where('check_again_at', '<', now - MINUTE_MS)
    .execute()
  await db
    .deleteFrom('tokens')
    .where('forge_checked_at', '<', now - MAX_UNUSED_MS)
    // A token that was revoked here must stay revoked, whatever the forge says.
    .where('revoked_at', 'is', null)
    .execute()
}
