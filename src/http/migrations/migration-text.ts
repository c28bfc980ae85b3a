import type { Migration } from '../../migrations/migration.ts'
import type { Addresses } from '../../repositories/addresses.ts'
import type { RepositoryFacts } from '../../repositories/facts.ts'
import {
  extendedRepositoryJson,
  migrationJson,
  plainRepositoryJson,
  type Rendering,
} from './github-json.ts'

/** JSON in pieces: what is read and rendered a piece at a time is never in memory as a whole. */
export type Text = AsyncIterable<string>
/** A snapshot, some repositories at a time. */
export type Batches = AsyncIterable<RepositoryFacts[]> | Iterable<RepositoryFacts[]>

const NO_REPOSITORIES = '"repositories":[]'

export async function* migrationText(
  migration: Migration,
  batches: Batches,
  rendering: Rendering,
): Text {
  // Within a value the quotes would be escaped, so this is found once and is the member itself.
  const text = JSON.stringify(migrationJson(migration, [], rendering))
  const [before, after] = text.split(NO_REPOSITORIES)
  yield `${before}"repositories":`
  yield* array(batches, (facts) => extendedRepositoryJson(facts, rendering.addresses))
  yield after!
}

export async function* migrationsText(
  migrations: readonly Migration[],
  batchesOf: (migration: Migration) => Batches,
  rendering: Rendering,
): Text {
  let opening = '['
  for (const migration of migrations) {
    yield opening
    yield* migrationText(migration, batchesOf(migration), rendering)
    opening = ','
  }
  yield opening === '[' ? '[]' : ']'
}

export function repositoriesText(batches: Batches, addresses: Addresses): Text {
  return array(batches, (facts) => plainRepositoryJson(facts, addresses))
}

async function* array<T>(batches: AsyncIterable<T[]> | Iterable<T[]>, json: (item: T) => unknown) {
  let opening = '['
  for await (const batch of batches) {
    if (batch.length === 0) continue
    yield opening + batch.map((item) => JSON.stringify(json(item))).join(',')
    opening = ','
  }
  yield opening === '[' ? '[]' : ']'
}
