import type { Migration } from '../../migrations/migration.ts'
import { migrationJson, type Rendering } from './github-json.ts'

/** JSON in pieces: what is read and rendered some at a time need not be in memory as a whole. */
export type Pieces = AsyncIterable<readonly Buffer[]>
/** Repositories as JSON, some at a time, each with a comma before it. */
export type Repositories = Pieces | Iterable<readonly Buffer[]>

const NO_REPOSITORIES = '"repositories":[]'

export async function* migrationText(
  migration: Migration,
  repositories: Repositories,
  rendering: Rendering,
): Pieces {
  const text = JSON.stringify(migrationJson(migration, [], rendering))
  // Within a value the quotes would be escaped, so this is found once and is the member itself.
  const end = text.indexOf(NO_REPOSITORIES) + NO_REPOSITORIES.length - 1
  yield [Buffer.from(text.slice(0, end))]
  yield* listed(repositories)
  yield [Buffer.from(text.slice(end))]
}

export async function* migrationsText(
  migrations: readonly Migration[],
  repositoriesOf: (migration: Migration) => Repositories,
  rendering: Rendering,
): Pieces {
  let opening = OPENING
  for (const migration of migrations) {
    yield [opening]
    yield* migrationText(migration, repositoriesOf(migration), rendering)
    opening = COMMA
  }
  yield [opening === OPENING ? EMPTY : CLOSING]
}

export async function* repositoriesText(repositories: Repositories): Pieces {
  yield [OPENING]
  yield* listed(repositories)
  yield [CLOSING]
}

const OPENING = Buffer.from('[')
const CLOSING = Buffer.from(']')
const EMPTY = Buffer.from('[]')
const COMMA = Buffer.from(',')

/** Without the comma before the first. */
async function* listed(repositories: Repositories): Pieces {
  let isFirst = true
  for await (const some of repositories) {
    const [first, ...others] = some
    if (!first) continue
    yield isFirst ? [first.subarray(COMMA.length), ...others] : some
    isFirst = false
  }
}
