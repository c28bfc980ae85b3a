import { randomBytes } from 'node:crypto'
import type { Db } from '../db/database.ts'

/** What keys sign: download links, and tokens to clone a repository with. That of the store only tells databases apart. */
type KeyName = 'link-key' | 'clone-key' | 'store'

/** A key lives in the database, so that any process can check what any other has signed. Made where there is none. */
export async function signingKey(db: Db, name: KeyName): Promise<Buffer> {
  const known = await readKey(db, name)
  if (known) return known
  await db
    .insertInto('secrets')
    .values({ name, value: newKey() })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
  return (await readKey(db, name))!
}

/** Whatever the old one has signed is worth nothing from now on. */
export async function replaceKey(db: Db, name: KeyName): Promise<void> {
  const value = newKey()
  await db
    .insertInto('secrets')
    .values({ name, value })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

const newKey = (): string => randomBytes(32).toString('hex')

async function readKey(db: Db, name: KeyName): Promise<Buffer | undefined> {
  const row = await db
    .selectFrom('secrets')
    .select('value')
    .where('name', '=', name)
    .executeTakeFirst()
  return row && Buffer.from(row.value, 'hex')
}
