import { wasValidAtLastUse } from '../accounts/token-store.ts'
import type { Db } from '../db/database.ts'
import { statementBatches } from '../db/statement-batches.ts'

/** Who follows which migration, by which token. */
export interface Following {
  tokenId: number
  migrationId: number
}

/** No stream asks the forge again: one that is this old is to be opened anew. A clone token is good for as long. */
const FORGE_ANSWER_LASTS_MS = 60 * 60_000

/**
 * Which of them may go on: the token is valid, its account is there, and the migration is the account's, or that of an
 * organization that it owns. For all of them together, as each of them was asked when it began.
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
        token.or([
          token('asked_at', 'is', null),
          token('asked_at', '>', now - FORGE_ANSWER_LASTS_MS),
        ]),
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
