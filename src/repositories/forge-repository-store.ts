import type { Db } from '../db/database.ts'
import { statementBatches } from '../db/statement-batches.ts'
import type { ForgeRepository } from '../sources/forge/connect-forge.ts'
import type { RepositoryName } from '../sources/source.ts'
import { keyOfName } from './repository-store.ts'

export interface ForgeListedRepository {
  repository: ForgeRepository
  askedAt: number
}

/** What the forge said last of all repositories, by lower-case full name. */
export async function listForgeRepositories(db: Db): Promise<Map<string, ForgeRepository>> {
  const rows = await db.selectFrom('forge_repositories').selectAll().execute()
  return new Map(rows.map((row) => [row.name_key, JSON.parse(row.facts) as ForgeRepository]))
}

export async function findForgeRepository(
  db: Db,
  name: RepositoryName,
): Promise<ForgeListedRepository | undefined> {
  const row = await db
    .selectFrom('forge_repositories')
    .selectAll()
    .where('name_key', '=', keyOfName(name))
    .executeTakeFirst()
  return row && { repository: JSON.parse(row.facts) as ForgeRepository, askedAt: row.asked_at }
}

export async function upsertForgeRepositories(
  tx: Db,
  repositories: readonly ForgeRepository[],
  askedAt: number,
): Promise<void> {
  const rows = new Map(
    repositories.map((each) => [
      keyOfName(each),
      { name_key: keyOfName(each), facts: JSON.stringify(each), asked_at: askedAt },
    ]),
  )
  // In one order for everyone: two who write the same rows then never wait for each other.
  const inOrder = [...rows.values()].sort((a, b) => (a.name_key < b.name_key ? -1 : 1))
  for (const some of statementBatches(inOrder))
    await tx
      .insertInto('forge_repositories')
      .values(some)
      .onConflict((known) =>
        known.column('name_key').doUpdateSet((row) => ({
          facts: row.ref('excluded.facts'),
          asked_at: row.ref('excluded.asked_at'),
        })),
      )
      .execute()
}

export async function deleteForgeRepository(db: Db, name: RepositoryName): Promise<void> {
  await db.deleteFrom('forge_repositories').where('name_key', '=', keyOfName(name)).execute()
}

/** These and no others, but for those that somebody was told of meanwhile. */
export async function replaceForgeRepositories(
  db: Db,
  repositories: readonly ForgeRepository[],
  askedAt: number,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await upsertForgeRepositories(tx, repositories, askedAt)
    await tx.deleteFrom('forge_repositories').where('asked_at', '<', askedAt).execute()
  })
}
