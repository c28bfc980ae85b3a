import assert from 'node:assert/strict'
import { findAccount } from '../../src/accounts/account-store.ts'
import { addToken } from '../../src/accounts/token-store.ts'
import { connect, type DatabaseOptions } from '../../src/db/connect.ts'

/** What `godwit token add LOGIN` does, without the start of a process for it: most tests need a token before anything else. */
export async function mintToken(place: DatabaseOptions, login: string): Promise<string> {
  const { db, close } = await connect(place)
  try {
    const account = (await findAccount(db, login)) ?? assert.fail(`account ${login} does not exist`)
    return await addToken(db, account, { name: '', expiresAt: null, now: Date.now() })
  } finally {
    await close()
  }
}
