import type { Account } from '../../../accounts/account.ts'
import type { AuditEntry } from '../../../accounts/audit-log.ts'
import type * as wire from '../../../wire/types.ts'
import { utcTimestamp } from '../../rendering.ts'

/** Renders an entry. `viewer` is an account that sees the token and the address of its own actions only. */
export function auditEntryJson(
  { actorId, id, at, ...entry }: AuditEntry,
  viewer?: Pick<Account, 'id'>,
): wire.AuditEntry {
  const isOther = viewer !== undefined && actorId !== viewer.id
  return { id, at: utcTimestamp(at), ...entry, ...(isOther && { token: null, address: null }) }
}
