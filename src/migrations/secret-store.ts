import { randomBytes } from 'node:crypto'
import type { Db } from '../db/database.ts'

/** The key that signs download links. It lives in the database, so that any process can check any link. */
export async function linkKey(db: Db): Promise<Buffer> {
  await db
    .insertInto('secrets')
    .values({ name: 'link-key', value: randomBytes(32).toString('hex') })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  const { value } = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', 'link-key')
    .executeTakeFirstOrThrow()
  return Buffer.from(value, 'hex')
}
