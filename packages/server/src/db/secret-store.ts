import { randomBytes } from 'node:crypto'
import type { Db } from './database.ts'

/** `link-key` signs download links and `clone-key` clone tokens. `store` only identifies the database. */
type KeyName = 'link-key' | 'clone-key' | 'store'

/** Returns a key from the database, so that all processes share it. Creates it if there is none. */
export async function signingKey(db: Db, name: KeyName): Promise<Buffer> {
  const existing = await readKey(db, name)
  if (existing) return existing
  await db
    .insertInto('secrets')
    .values({ name, value: newKey() })
    .onConflict((oc) => oc.column('name').doNothing())
    .execute()
  return (await readKey(db, name))!
}

/** Replaces a key: everything that the old key signed becomes invalid. */
export async function replaceKey(db: Db, name: KeyName): Promise<void> {
  const value = newKey()
  await db
    .insertInto('secrets')
    .values({ name, value })
    .onConflict((oc) => oc.column('name').doUpdateSet({ value }))
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
