import { seenOrganization } from '../accounts/seen-organization.ts'
import { hasOnlyRevokedTokens } from '../accounts/token-store.ts'
import type { Db } from '../db/database.ts'
import { ASKED_NOW, type RightsRefresher } from '../repositories/refresh-rights.ts'
import type { Schedule } from './schedule.ts'

export interface StandingParts {
  db: Db
  /** Absent where there is no forge to ask. */
  rights?: RightsRefresher | undefined
}

/** Why the account that made the schedule may no longer act; undefined while it may. Rejects with ForgeAway. */
export async function whyStopped(
  { db, rights }: StandingParts,
  { owner, maker }: Pick<Schedule, 'owner' | 'maker'>,
): Promise<string | undefined> {
  const { login } = maker
  if (maker.type !== 'User') return `${login} is not a user any more`
  if (await hasOnlyRevokedTokens(db, maker)) return `every token of ${login} is revoked`
  const removal = await rights?.refresh(maker, ASKED_NOW)
  if (removal) return `${login} is ${removal === 'deleted' ? 'no longer' : removal} on the forge`
  if (owner.id === maker.id) return undefined
  const seen = await seenOrganization(db, { account: maker }, { id: owner.id })
  return seen?.mayMigrate ? undefined : `${login} is no longer an owner of ${owner.login}`
}
