import { ensureAccount } from '../packages/server/src/accounts/account-store.ts'
import { addToken } from '../packages/server/src/accounts/token-store.ts'
import { connect } from '../packages/server/src/db/connect.ts'
import type { Db } from '../packages/server/src/db/database.ts'
import { upgradeSchema } from '../packages/server/src/db/upgrade.ts'
import { DEFAULT_OPTIONS } from '../packages/server/src/migrations/migration.ts'
import { insertMigration } from '../packages/server/src/migrations/migration-store.ts'
import type { RepositoryMetadata } from '../packages/server/src/repositories/repository-metadata.ts'
import { randomNumbers } from '../test/support/random-numbers.ts'
import { repositoryMetadata } from '../test/support/repository-metadata.ts'

const ACCOUNTS = 40
const MIGRATIONS = 2000
const OWN_REPOSITORIES = 60
/**
 * Each of these migrations is requested once: enough for rounds of more than a second, after enough to warm up
 * the code.
 */
export const NEVER_RENDERED = 16_000

export interface SeededMigration {
  id: number
  authorization: string
}

/** Migrations of accounts that migrate some of their repositories again and again. */
export interface Crowd {
  /** 2,000 migrations of 10 repositories each. */
  ofTen: SeededMigration[]
  /** 2,000 migrations of 30 repositories each. */
  ofThirty: SeededMigration[]
  /** Migrations of 10 repositories that are in no other migration. */
  cold: SeededMigration[]
}

export async function seedCrowd(at: { dataDirectory: string; databaseUrl: string | undefined }) {
  const database = await connect(at)
  try {
    await upgradeSchema(database)
    return await database.db.transaction().execute(seed)
  } finally {
    await database.close()
  }
}

async function seed(tx: Db): Promise<Crowd> {
  const now = Date.now()
  const numbers = randomNumbers(2)
  const crowd: Crowd = { ofTen: [], ofThirty: [], cold: [] }
  let id = 0
  for (let n = 0; n < ACCOUNTS; n++) {
    const owner = await ensureAccount(tx, `account-${n}`, now)
    const authorization = `bearer ${await addToken(tx, owner, { name: 'bench', expiresAt: null, now })}`
    const fresh = () => repositoryMetadata({ id: ++id, name: `repository-${id}`, owner })
    const own = Array.from({ length: OWN_REPOSITORIES }, fresh)
    const add = async (to: SeededMigration[], repositories: RepositoryMetadata[]) => {
      const options = { ...DEFAULT_OPTIONS }
      const fields = { guid: crypto.randomUUID(), owner, options, organizations: null, now }
      const { id: migrationId } = await insertMigration(tx, { ...fields, repositories })
      to.push({ id: migrationId, authorization })
    }
    const some = (count: number) =>
      own
        .map((metadata) => ({ metadata, at: numbers() }))
        .sort((a, b) => a.at - b.at)
        .slice(0, count)
        .map(({ metadata }) => metadata)
    for (let m = 0; m < MIGRATIONS / ACCOUNTS; m++) {
      await add(crowd.ofTen, some(10))
      await add(crowd.ofThirty, some(30))
    }
    for (let m = 0; m < NEVER_RENDERED / ACCOUNTS; m++) {
      await add(crowd.cold, Array.from({ length: 10 }, fresh))
    }
  }
  await tx.updateTable('migrations').set({ state: 'exported', remaining: 0, version: 2 }).execute()
  return crowd
}
