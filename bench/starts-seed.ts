import { ensureAccount } from '../packages/server/src/accounts/account-store.ts'
import { addToken } from '../packages/server/src/accounts/token-store.ts'
import { connect } from '../packages/server/src/db/connect.ts'
import { upgradeSchema } from '../packages/server/src/db/upgrade.ts'

/** Creates accounts in a new database, each with a token. */
export async function seedAccounts(
  at: { dataDirectory: string; databaseUrl: string | undefined },
  logins: readonly string[],
): Promise<string[]> {
  const database = await connect(at)
  try {
    await upgradeSchema(database)
    const now = Date.now()
    const tokens: string[] = []
    for (const login of logins) {
      const account = await ensureAccount(database.db, login, now)
      tokens.push(await addToken(database.db, account, { name: 'bench', expiresAt: null, now }))
    }
    return tokens
  } finally {
    await database.close()
  }
}
