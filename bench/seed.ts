import { ensureAccount } from '../packages/server/src/accounts/account-store.ts'
import { addToken } from '../packages/server/src/accounts/token-store.ts'
import { connect } from '../packages/server/src/db/connect.ts'
import type { Db } from '../packages/server/src/db/database.ts'
import { upgradeSchema } from '../packages/server/src/db/upgrade.ts'
import { DEFAULT_OPTIONS } from '../packages/server/src/migrations/migration.ts'
import { insertMigration } from '../packages/server/src/migrations/migration-store.ts'
import { repositoryMetadata } from '../test/support/repository-metadata.ts'
import { OWNER } from './corpus.ts'

export interface Seeded {
  token: string
  /** Ids of the migrations by number of repositories. */
  migrations: Map<number, number>
}

/** Seeds a database with one account, a token, and a finished migration of each size. */
export async function seedDatabase(
  dataDirectory: string,
  sizes: readonly number[],
  databaseUrl?: string,
): Promise<Seeded> {
  const database = await connect({ dataDirectory, databaseUrl })
  try {
    await upgradeSchema(database)
    return await database.db.transaction().execute((tx) => seed(tx, sizes))
  } finally {
    await database.close()
  }
}

async function seed(tx: Db, sizes: readonly number[]): Promise<Seeded> {
  const now = Date.now()
  const owner = await ensureAccount(tx, OWNER, now)
  const token = await addToken(tx, owner, { name: 'bench', expiresAt: null, now })
  const migrations = new Map<number, number>()
  for (const size of sizes) {
    const repositories = Array.from({ length: size }, (_, index) =>
      repositoryMetadata({ id: index + 1, name: `repository-${index}`, owner }),
    )
    const guid = crypto.randomUUID()
    const options = { ...DEFAULT_OPTIONS }
    const started = { guid, owner, options, repositories, organizations: null, now }
    migrations.set(size, (await insertMigration(tx, started)).id)
  }
  await tx.updateTable('migrations').set({ state: 'exported', remaining: 0, version: 2 }).execute()
  return { token, migrations }
}
