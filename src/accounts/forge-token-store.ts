import type { Db } from '../db/database.ts'
import { hasExpired } from '../db/lease-store.ts'

/** `unknown` where the forge gave no answer. */
export type ForgeVerdict = 'good' | 'refused' | 'unknown'

export const MINUTE_MS = 60_000
/** Who asks has an answer before, or is dead. */
const ASKING_MS = 10_000
/** A token that nobody has used for so long is forgotten; the forge is asked again. */
const FORGOTTEN_MS = 30 * 24 * 60 * MINUTE_MS

/** False where the forge was asked about this token within the last minute, or is being asked: by any process. */
export async function claimTokenCheck(db: Db, digest: string, now: number): Promise<boolean> {
  const asking = { answer: 'asking', next_at: now + ASKING_MS }
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

/** A token of the forge, good until the minute is over. One that an operator revoked here stays so. */
export async function storeForgeToken(
  tx: Db,
  { digest, accountId, askedAt }: { digest: string; accountId: number; askedAt: number },
): Promise<void> {
  const good = { account_id: accountId, asked_at: askedAt, expires_at: askedAt + MINUTE_MS }
  await tx
    .insertInto('tokens')
    .values({
      digest,
      name: 'token of the forge',
      created_at: askedAt,
      last_used_at: null,
      revoked_at: null,
      ...good,
    })
    .onConflict((same) => same.column('digest').doUpdateSet(good))
    .execute()
}

/** Whether the forge has ever said that it is good. */
export async function wasAcceptedByForge(db: Db, digest: string): Promise<boolean> {
  const row = await db
    .selectFrom('tokens')
    .select('id')
    .where('digest', '=', digest)
    .where('asked_at', 'is not', null)
    .executeTakeFirst()
  return row !== undefined
}

/** Good for no time at all since it was asked about. */
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
    .where('asked_at', '<', now - FORGOTTEN_MS)
    // What was revoked here stays so, whatever the forge says of it.
    .where('revoked_at', 'is', null)
    .execute()
}
