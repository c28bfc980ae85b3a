import type { Db } from '../db/database.ts'
import { inLanes } from '../ground/lanes.ts'
import type { Source } from '../sources/source.ts'
import { Unreadable } from '../sources/unreadable.ts'
import type { Migration } from './migration.ts'
import { fullNameAt } from './snapshot-store.ts'

/** A repository that could not be exported the last time. */
export interface BrokenRepository {
  fullName: string
  reason: string
  /** Whether it is another now than it was then; null where nobody here can tell. */
  isChanged: boolean | null
}

export interface RetryForecast {
  broken: BrokenRepository[]
  /** Nothing that was broken has changed: a retry of the same would end in the same way. */
  isUnchanged: boolean
}

interface RetryParts {
  db: Db
  source: Source | undefined
}

const LOOKED_AT_ONCE = 4

/** What would become of a retry, without starting it: each repository that was broken is looked at. */
export async function forecastRetry(
  { db, source }: RetryParts,
  { id }: Pick<Migration, 'id'>,
): Promise<RetryForecast> {
  const rows = await db
    .selectFrom('repository_exports')
    .select(['position', 'reason', 'fingerprint'])
    .where('migration_id', '=', id)
    .where('reason', 'is not', null)
    .orderBy('position')
    .execute()
  const broken = new Array<BrokenRepository>(rows.length)
  await inLanes(rows.entries(), { lanes: LOOKED_AT_ONCE }, async ([at, row], stop) => {
    const fullName = await fullNameAt(db, id, row.position)
    const last = { reason: row.reason!, fingerprint: row.fingerprint }
    const isChanged = source ? await hasChanged(source, fullName, last, stop) : null
    broken[at] = { fullName, reason: last.reason, isChanged }
  })
  const isUnchanged = broken.length > 0 && broken.every(({ isChanged }) => isChanged === false)
  return { broken, isUnchanged }
}

async function hasChanged(
  source: Source,
  fullName: string,
  last: { reason: string; fingerprint: string | null },
  signal: AbortSignal,
): Promise<boolean> {
  const [owner = '', name = ''] = fullName.split('/')
  try {
    const { fingerprint } = await source.examine({ owner, name }, signal)
    return fingerprint !== last.fingerprint
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error
    return error.message.replace(`${fullName}: `, '') !== last.reason
  }
}
