import { openSessionsAmong } from '../accounts/session-store.ts'
import { isUsableById } from '../accounts/token-store.ts'
import { type Db, statementBatches } from '../db/database.ts'
import { ownsOrganization } from '../repositories/visible-repository.ts'

/** A stream of the progress of a migration, opened with a token or in a session. */
export interface ProgressStream {
  tokenId: number
  /** The digest that identifies the browser session; undefined if the stream was opened with a token alone. */
  sessionDigest?: string | undefined
  migrationId: number
}

/** A stream with a token of the forge ends when the forge has not accepted the token for this long. */
const FORGE_CHECK_TTL_MS = 60 * 60_000

/**
 * Returns the streams that may continue: the token is valid, the session has not ended, and the migration belongs to its account or to an
 * organization. The account must be an owner of that organization, or a site admin. These are the rules that were applied when each was
 * opened.
 */
export async function findPermittedStreams<S extends ProgressStream>(
  db: Db,
  streams: readonly S[],
  now: number,
): Promise<Set<S>> {
  const permitted = new Set<S>()
  const digests = streams.flatMap(({ sessionDigest }) => sessionDigest ?? [])
  const openSessions = await openSessionsAmong(db, digests, now)
  const hasEnded = ({ sessionDigest }: S) =>
    sessionDigest !== undefined && !openSessions.has(sessionDigest)
  for (const batch of statementBatches(streams)) {
    const rows = await db
      .selectFrom('tokens')
      .innerJoin('accounts', 'accounts.id', 'tokens.account_id')
      .innerJoin('migrations', (join) => join.onTrue())
      .innerJoin('accounts as owners', 'owners.id', 'migrations.owner_id')
      .select(['tokens.id as tokenId', 'migrations.id as migrationId'])
      .where('tokens.id', 'in', [...new Set(batch.map(({ tokenId }) => tokenId))])
      .where('migrations.id', 'in', [...new Set(batch.map(({ migrationId }) => migrationId))])
      .where(isUsableById(now))
      .where((eb) =>
        eb.or([
          eb('forge_checked_at', 'is', null),
          eb('forge_checked_at', '>', now - FORGE_CHECK_TTL_MS),
        ]),
      )
      .where((eb) =>
        eb.or([
          eb('owners.id', '=', eb.ref('accounts.id')),
          eb.and([
            eb('owners.type', '=', 'Organization'),
            eb.or([
              eb('accounts.site_admin', '=', 1),
              ownsOrganization('accounts.id', 'owners.id'),
            ]),
          ]),
        ]),
      )
      .execute()
    const found = new Set(rows.map(keyOf))
    for (const each of batch) if (found.has(keyOf(each)) && !hasEnded(each)) permitted.add(each)
  }
  return permitted
}

const keyOf = ({ tokenId, migrationId }: ProgressStream) => `${tokenId} ${migrationId}`
