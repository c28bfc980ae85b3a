import { summarizeNames } from '@godwit/lib/names'
import { formatBytes } from '@godwit/lib/quantities'
import { InvalidRequest } from '@godwit/lib/request-errors'
import type { Account, Scope } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'

/** The value in the database of an account that may use any number of bytes. */
const UNLIMITED = -1

const fromColumn = (max: number): number => (max === UNLIMITED ? Number.POSITIVE_INFINITY : max)

/** How many bytes the archives of an owner may have, and have. */
export interface Quota {
  /** Infinity if there is no limit. */
  max: number
  /** The sum of the sizes of all downloads. A repository that two archives share is stored once, but counts in both. */
  used: number
}

/** The archives of an owner would take more than its quota. */
export class ArchiveQuotaExceeded extends InvalidRequest {
  override name = 'ArchiveQuotaExceeded'
  /** How many bytes would have to be deleted. */
  readonly missing: number

  constructor(message: string, missing: number) {
    super([{ code: 'custom', message }])
    this.missing = missing
  }
}

/** Reads the quota of an owner. `defaultMax` applies to accounts without a quota of their own. */
export async function readQuota(
  db: Db,
  owner: Pick<Account, 'id'>,
  defaultMax: number | undefined,
): Promise<Quota> {
  const max = await readMax(db, owner, defaultMax)
  return { max, used: totalBytes(await archivesOf(db, owner.id)) }
}

async function readMax(db: Db, { id }: Pick<Account, 'id'>, defaultMax = Number.POSITIVE_INFINITY) {
  const { own } = await db
    .selectFrom('accounts')
    .select('max_archive_bytes as own')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return own === null ? defaultMax : fromColumn(own)
}

export const totalBytes = (archives: readonly { bytes: number }[]): number =>
  archives.reduce((sum, { bytes }) => sum + bytes, 0)

/** Returns the owner's archives, oldest first. */
async function archivesOf(db: Db, ownerId: number): Promise<{ id: number; bytes: number }[]> {
  const rows = await db
    .selectFrom('migrations')
    .select(['id', 'archive_bytes as bytes'])
    .where('owner_id', '=', ownerId)
    .where('archive_expires_at', 'is not', null)
    .orderBy('id')
    .execute()
  return rows.map(({ id, bytes }) => ({ id, bytes: bytes ?? 0 }))
}

/** Throws ArchiveQuotaExceeded unless an archive of so many bytes fits. The message names archives that could be deleted. */
export async function requireQuota(
  db: Db,
  { owner }: Scope,
  needed: number,
  defaultMax: number | undefined,
): Promise<void> {
  const max = await readMax(db, owner, defaultMax)
  if (max === Number.POSITIVE_INFINITY) return
  const archives = await archivesOf(db, owner.id)
  const used = totalBytes(archives)
  const missing = used + needed - max
  if (missing <= 0) return
  const names = archives.map(({ id, bytes }) => `migration ${id} (${formatBytes(bytes)})`)
  const toDelete =
    used === 0
      ? 'Migrate fewer repositories, or ask the operator for more.'
      : `Delete an archive that you no longer need: ${summarizeNames(names)}.`
  const message = `${describeQuota({ max, used }, needed)}. ${toDelete}`
  throw new ArchiveQuotaExceeded(`${message[0]!.toUpperCase()}${message.slice(1)}`, missing)
}

/** Returns why an archive does not fit. */
export const describeQuota = ({ max, used }: Quota, needed: number): string =>
  `it does not fit into the quota of archives: ${formatBytes(max)} in total, ${formatBytes(used)} used, ${formatBytes(needed)} needed`

/** Sets the quota of an account: Infinity for no limit, null for the default of the service. */
export async function setQuota(tx: Db, { id }: Pick<Account, 'id'>, max: number | null) {
  const max_archive_bytes = max === Number.POSITIVE_INFINITY ? UNLIMITED : max
  await tx.updateTable('accounts').set({ max_archive_bytes }).where('id', '=', id).execute()
}

/** Returns the quotas that accounts have of their own, by the id of the account. */
export async function listQuotas(db: Db): Promise<Map<number, number>> {
  const rows = await db
    .selectFrom('accounts')
    .select(['id', 'max_archive_bytes as max'])
    .where('max_archive_bytes', 'is not', null)
    .execute()
  return new Map(rows.map(({ id, max }) => [id, fromColumn(max!)]))
}
