import { memoize } from '../../../lib/memoize.ts'
import type { Migration, MigrationOptions } from '../../../migrations/migration.ts'
import type { MigrationState } from '../../../migrations/states.ts'
import type { Body, Listed } from '../../middleware/json-answer.ts'
import { filling, type JsonOf, templateOf, valueMark } from '../../middleware/json-template.ts'
import { nodeId } from '../../middleware/node-id.ts'
import type { Rendering } from '../../rendering.ts'
import { userText } from '../users/user-json.ts'
import { migrationJson, migrationsAddress } from './migration-json.ts'

/** A migration as JSON, with its repositories. */
export type MigrationText = (migration: Migration, repositories: Listed | undefined) => Body

/** What stands before the repositories, what after them, and both where there are none. */
interface Around {
  opening: string
  closing: string
  brief: readonly [string]
}

const MAX_REMEMBERED = 5000

/**
 * The same to the byte as what its renderer and JSON.stringify make of it. Who polls gets the same migration from the store
 * for as long as nothing has been written, so its text is kept for as long.
 */
export function migrationText(rendering: Rendering): MigrationText {
  const withoutArchive = aroundRepositories(null, rendering)
  const withArchive = aroundRepositories(0, rendering)

  const around = memoize(MAX_REMEMBERED, (migration: Migration): Around => {
    const { before, after } = migration.archiveExpiresAt === null ? withoutArchive : withArchive
    const opening = `${before(migration)!}[`
    const closing = `]${after(migration)!}`
    return { opening, closing, brief: [opening + closing] }
  })

  return (migration, repositories) => {
    const { opening, closing, brief } = around(migration)
    return repositories ? [opening, repositories, closing] : brief
  }
}

function marksOf({ addresses, migrationTime }: Rendering) {
  const owner = userText(addresses)
  const address = ({ id, owner: of }: Migration) => `${migrationsAddress(of, addresses)}/${id}`
  const marks: Record<string, JsonOf<Migration>> = {
    id: ({ id }) => String(id),
    node_id: ({ id }) => `"${nodeId('Migration', id)}"`,
    owner: (migration) => owner(migration.owner),
    guid: ({ guid }) => JSON.stringify(guid),
    state: ({ state }) => JSON.stringify(state),
    created_at: ({ createdAt }) => `"${migrationTime(createdAt)}"`,
    updated_at: ({ updatedAt }) => `"${migrationTime(updatedAt)}"`,
    url: (migration) => `"${address(migration)}"`,
    archive_url: (migration) => `"${address(migration)}/archive"`,
  }
  return (mark: string): JsonOf<Migration> =>
    marks[mark] ?? (({ options }) => JSON.stringify(options[mark as keyof MigrationOptions]))
}

/** Members that the renderer computes. */
const COMPUTED = new Set(
  ['node_id', 'owner', 'url', 'archive_url', 'created_at', 'updated_at'].concat('repositories'),
)

const MARKED_OPTIONS = new Proxy({} as MigrationOptions, {
  get: (_, name) => valueMark(String(name)),
})

/** What the renderer only passes on is a mark; what it computes with is something that it can compute with. */
const MARKED_MIGRATION: Migration = {
  id: valueMark('id') as unknown as number,
  guid: valueMark('guid'),
  owner: { id: 0, login: '', type: 'User', siteAdmin: false, createdAt: 0 },
  options: MARKED_OPTIONS,
  state: valueMark('state') as MigrationState,
  reason: null,
  repositoryCount: 0,
  version: 0,
  createdAt: 0,
  updatedAt: 0,
  archiveExpiresAt: null,
  archiveKey: null,
}

/** What stands before the repositories, and what after them. */
function aroundRepositories(
  archiveExpiresAt: number | null,
  rendering: Rendering,
): { before: JsonOf<Migration>; after: JsonOf<Migration> } {
  const shown = migrationJson({ ...MARKED_MIGRATION, archiveExpiresAt }, [], rendering)
  const { opening, runs } = templateOf(shown, COMPUTED)
  const at = runs.findIndex(({ mark }) => mark === 'repositories')
  const marks = marksOf(rendering)
  return {
    before: filling({ opening, runs: runs.slice(0, at) }, marks),
    after: filling({ opening: runs[at]!.between[1]!, runs: runs.slice(at + 1) }, marks),
  }
}

export function migrationsText(
  migrations: readonly Migration[],
  bodyOf: (migration: Migration) => Body,
): Body {
  const bodies = migrations.flatMap((migration, at) => [at === 0 ? '' : ',', ...bodyOf(migration)])
  return ['[', ...bodies, ']']
}
