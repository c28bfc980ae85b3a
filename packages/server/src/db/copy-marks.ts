import { UserError } from '@godwit/lib/user-error'
import type { Db, Row } from './database.ts'

/**
 * What a mark of a copy is about, and what its address is:
 * - `target`: this database is a copy. The key of the owner mark of the service that it is a copy of.
 * - `source`: the service of this database is moved. Where to.
 * - `blobs`: only the archives were moved. Where they were before.
 */
type Role = 'target' | 'source' | 'blobs'

export const findCopyMark = async (db: Db, role: Role): Promise<Row<'copies'> | undefined> =>
  db.selectFrom('copies').selectAll().where('role', '=', role).executeTakeFirst()

export async function writeCopyMark(
  db: Db,
  role: Role,
  state: 'started' | 'finished',
  address: string,
): Promise<void> {
  const columns = { state, address, changed_at: Date.now() }
  const insertion = db.insertInto('copies').values({ role, ...columns })
  await insertion.onConflict((oc) => oc.column('role').doUpdateSet(columns)).execute()
}

export async function removeCopyMarks(db: Db, ...roles: Role[]): Promise<void> {
  await db.deleteFrom('copies').where('role', 'in', roles).execute()
}

const UNMARK = 'to use this one again, run `godwit copy --unmark-source`'

/** Returns why the service cannot be used here, and what to do: it was moved, or is an unfinished copy. */
export function describeMove(
  marks: readonly Row<'copies'>[],
  blobs: string,
): { found: string; advice: string } | undefined {
  for (const { role, state, address, changed_at } of marks) {
    const day = new Date(Number(changed_at)).toISOString().slice(0, 10)
    if (role === 'source' && state === 'finished')
      return {
        found: `this service was moved to ${address} on ${day}`,
        advice: `use it there; ${UNMARK}`,
      }
    if (role === 'source')
      return {
        found: `this service is being moved to ${address}`,
        advice: `run the same \`godwit copy\` again to finish that; ${UNMARK}`,
      }
    if (role === 'target' && state === 'started')
      return {
        found: 'this is an unfinished copy of a service',
        advice: 'run the same `godwit copy` again to finish it',
      }
    if (role === 'blobs' && address === blobs)
      return {
        found: `the archives of this service were moved from ${address} on ${day}`,
        advice: `set --blobs or --data to where they are now; ${UNMARK}`,
      }
  }
  return undefined
}

/** Throws a UserError if the service cannot be used here. */
export async function requireNotMoved(db: Db, blobs: string): Promise<void> {
  const move = describeMove(await db.selectFrom('copies').selectAll().execute(), blobs)
  if (move) throw new UserError(`${move.found}: ${move.advice}`)
}
