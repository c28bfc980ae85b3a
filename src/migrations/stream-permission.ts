import { wasValidAtLastUse } from '../accounts/token-store.ts'
import type { Db } from '../db/database.ts'
import { statementBatches } from '../db/statement-batches.ts'

/** A client that follows a migration with a token. */
export interface Following {
  tokenId: number
  migrationId: number
}

/** A stream does not check the token with the forge again, so it ends after this time. A clone token is valid for as long. */
const FORGE_CHECK_TTL_MS = 60 * 60_000

/**
 * Returns the clients that may continue to follow: the token is valid, its account exists, and the migration belongs to the account or to an
 * organization that it owns. One query checks all of them, by the rules that were applied when each started.
 */
export async function permittedFollowings<F extends Following>(
  db: Db,
  followings: readonly F[],
  now: number,
): Promise<Set<F>> {
  const permitted = new Set<F>()
  for (const batch of statementBatches(followings)) {
    const rows = await db
      .selectFrom('tokens')
      .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
      .innerJoin('migrations', (join) => join.onTrue())
      .innerJoin('accounts as owners', 'owners.id', 'migrations.owner_id')
      .select(['tokens.id as tokenId', 'migrations.id as migrationId'])
      .where('tokens.id', 'in', [...new Set(batch.map(({ tokenId }) => tokenId))])
      .where('migrations.id', 'in', [...new Set(batch.map(({ migrationId }) => migrationId))])
      .where(wasValidAtLastUse(now))
      .where((token) =>
        token.or([token('asked_at', 'is', null), token('asked_at', '>', now - FORGE_CHECK_TTL_MS)]),
      )
      .where((is) =>
        is.or([
          is('owners.id', '=', is.ref('accounts.id')),
          is.and([
            is('owners.type', '=', 'Organization'),
            is.or([
              is('accounts.site_admin', '=', 1),
              is.exists(
                is
                  .selectFrom('memberships')
                  .select('role')
                  .whereRef('organization_id', '=', 'owners.id')
                  .whereRef('memberships.account_id', '=', 'accounts.id')
                  .where('role', '=', 'owner'),
              ),
            ]),
          ]),
        ]),
      )
      .execute()
    const found = new Set(rows.map(keyOf))
    for (const each of batch) if (found.has(keyOf(each))) permitted.add(each)
  }
  return permitted
}

const keyOf = ({ tokenId, migrationId }: Following) => `${tokenId} ${migrationId}`
