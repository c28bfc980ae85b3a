import type { Db } from '../db/database.ts'
import { hasExpired } from '../db/lease-store.ts'

/** `unknown` if the forge did not answer. */
export type ForgeVerdict = 'good' | 'refused' | 'unknown'

export const MINUTE_MS = 60_000
/** A process that asks the forge has an answer within this time, or has died. */
const MAX_ASKING_MS = 10_000
/** A token that was not used for this long is deleted; then the forge is asked again. */
const MAX_UNUSED_MS = 30 * 24 * 60 * MINUTE_MS

/** Claims the check of a token. Returns false if any process asked the forge within the last minute, or is asking now. */
export async function claimTokenCheck(db: Db, digest: string, now: number): Promise<boolean> {
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

export async function recordTokenCheck(
  db: Db,
  digest: string,
  answer: ForgeVerdict,
  nextAt: number,
): Promise<void> {
  await db
    .updateTable('forge_questions')
    .set({ answer, next_at: nextAt })
    .where('digest', '=', digest)
    .execute()
}

export interface TokenCheck {
  answer: ForgeVerdict | 'asking'
  nextAt: number
}

export async function findTokenCheck(db: Db, digest: string): Promise<TokenCheck | undefined> {
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

/** Whether the forge has ever accepted the token. */
export async function wasAcceptedByForge(db: Db, digest: string): Promise<boolean> {
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

export async function deleteOldTokenChecks(db: Db, now: number): Promise<void> {
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
