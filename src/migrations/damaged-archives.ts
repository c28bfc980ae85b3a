import type { Account } from '../accounts/account.ts'
import type { Db } from '../db/database.ts'
import type { Migration } from './migration.ts'
import { outcomesOf } from './outcomes.ts'
import { archivedKeysOf, recordExportsOf } from './record-store.ts'
import { damagedKeys } from './segment-check-store.ts'
import { archivedMigrations, segmentUses } from './segment-sweep.ts'
import { namedRepositoriesOf } from './snapshot-store.ts'

/** What is said of the segments of an archive that are no repository's. */
const OWN_DATA = 'the metadata of the archive'

/** Names the repositories whose data in the archive of a migration is damaged; empty where nothing is. */
export async function damagedIn(
  db: Db,
  migration: Pick<Migration, 'id' | 'repositoryCount'>,
): Promise<string[]> {
  const { id } = migration
  const damaged = await damagedKeys(db)
  if (damaged.size === 0) return []
  const found = new Set<string>()
  for await (const [, key] of segmentUses(db, { ids: [id] })) if (damaged.has(key)) found.add(key)
  if (found.size === 0) return []
  const outcomes = await outcomesOf(db, { id })
  const records = await recordExportsOf(db, { id })
  const named = await namedRepositoriesOf(db, migration)
  const names = named.flatMap(({ fullName }, position) => {
    const git = outcomes.get(position)?.segmentKey ?? []
    const keys = [git, archivedKeysOf(records.get(position)?.records ?? null)].flat()
    const own = keys.filter((key) => found.has(key))
    for (const key of own) found.delete(key)
    return own.length > 0 ? [fullName] : []
  })
  return found.size > 0 ? [...names, OWN_DATA] : names
}

/** Those of the migrations whose archive has damaged data. */
export async function damagedAmong(db: Db, ids: readonly number[]): Promise<ReadonlySet<number>> {
  const damaged = await damagedKeys(db)
  const found = new Set<number>()
  if (damaged.size === 0 || ids.length === 0) return found
  for await (const [id, key] of segmentUses(db, { ids })) if (damaged.has(key)) found.add(id)
  return found
}

export interface DamagedArchive {
  migrationId: number
  login: string
  damaged: string[]
}

/** All archives with damaged data, for the operator alone. */
export async function damagedArchives(db: Db): Promise<DamagedArchive[]> {
  const archives: DamagedArchive[] = []
  if ((await damagedKeys(db)).size === 0) return archives
  for await (const { id, repositories } of archivedMigrations(db)) {
    const damaged = await damagedIn(db, { id, repositoryCount: repositories })
    if (damaged.length === 0) continue
    const { owner } = await db
      .selectFrom('migrations')
      .select('owner')
      .where('id', '=', id)
      .executeTakeFirstOrThrow()
    const { login } = JSON.parse(owner) as Account
    archives.push({ migrationId: id, login, damaged })
  }
  return archives
}

/** What an owner is told of an archive with damaged data. */
export function damageWarning(damaged: readonly string[]): string {
  return `the stored data of ${inShort(damaged)} is damaged: start a new migration to export it again`
}

const MAX_NAMED = 10

/** The first few names, and how many more there are. */
export function inShort(names: readonly string[]): string {
  const more = names.length - MAX_NAMED
  const named = names.slice(0, MAX_NAMED).join(', ')
  return more > 0 ? `${named} and ${more} more` : named
}
