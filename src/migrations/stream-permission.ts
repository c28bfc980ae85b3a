import type { Db } from '../db/database.ts'
import { batchesOf } from '../ground/batches.ts'

/** Who follows which migration, by which token. */
export interface Following {
  tokenId: number
  migrationId: number
}

const ASKED_AT_ONCE = 500

/**
 * Which of them may go on: the token is valid, its account is there, and the migration is the account's, or that of an
 * organization that it owns. For all of them
 * together, as each of them was asked when it began.
 */
export async function permittedFollowings<F extends Following>(
  db: Db,
  followings: readonly F[],
  now: number,
): Promise<Set<F>> {
  const permitted = new Set<F>()
  for (const batch of batchesOf(followings, ASKED_AT_ONCE)) {
    const rows = await db
      .selectFrom('tokens')
      .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
      .innerJoin('migrations', (join) => join.onTrue())
      .innerJoin('accounts as owners', 'owners.id', 'migrations.owner_id')
      .select(['tokens.id as tokenId', 'migrations.id as migrationId'])
      .where('tokens.id', 'in', [...new Set(batch.map(({ tokenId }) => tokenId))])
      .where('migrations.id', 'in', [...new Set(batch.map(({ migrationId }) => migrationId))])
      .where('revoked_at', 'is', null)
      .where((token) => token.or([token('expires_at', 'is', null), token('expires_at', '>', now)]))
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
