import { createGit } from '../packages/git/src/git.ts'
import { gitDirectory } from '../packages/hosts/src/directory/git-directory.ts'
import { ensureAccount } from '../packages/server/src/accounts/account-store.ts'
import { connect } from '../packages/server/src/db/connect.ts'
import { statementBatches } from '../packages/server/src/db/database.ts'
import { upgradeSchema } from '../packages/server/src/db/upgrade.ts'
import { putRepository } from '../packages/server/src/repositories/repository-store.ts'
import { OWNER } from './corpus.ts'

/** Fills the repository index as a first sync of copies does, but reads the metadata of one of them only. */
export async function seedIndex(data: string, root: string): Promise<void> {
  const git = createGit({ program: 'git', searchPath: process.env.PATH!, home: data })
  const source = gitDirectory({ root, git })
  const listed = await Array.fromAsync(source.list())
  const [first, ...others] = listed.flatMap((entry) => ('found' in entry ? [entry.found] : []))
  const { name, changeToken } = first!
  const metadata = await source.metadata(first!)
  const database = await connect({ dataDirectory: data, databaseUrl: undefined })
  try {
    await upgradeSchema(database)
    await database.db.transaction().execute(async (tx) => {
      const { id: ownerId } = await ensureAccount(tx, OWNER, Date.now())
      await putRepository(tx, { ownerId, name, changeToken, metadata, problem: null }, Date.now())
      const { id: _, ...row } = await tx
        .selectFrom('repositories')
        .selectAll()
        .executeTakeFirstOrThrow()
      const rows = others.map(({ name, changeToken }) => ({
        ...row,
        name,
        name_key: name,
        change_token: changeToken,
      }))
      for (const batch of statementBatches(rows))
        await tx.insertInto('repositories').values(batch).execute()
    })
  } finally {
    await database.close()
  }
}
