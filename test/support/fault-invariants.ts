import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { hasNothingLeftOver, rowsOf, unfinishedFiles } from './export-leftovers.ts'
import { assertArchiveHolds, type RefState } from './export-proof.ts'
import { type ExportStory, until } from './export-story.ts'
import { git } from './sample-repositories.ts'
import { createCommandRunner } from './shared-commands.ts'

const godwit = createCommandRunner()

type RefStates = Record<string, RefState>

/** The writes that the service has acknowledged, which must survive any fault. */
export interface Acknowledged {
  /** Migrations that were started, with the expected refs where they are known. */
  started: Map<number, RefStates | undefined>
  /** Migrations whose archive was deleted. */
  deleted: Set<number>
  /** Tokens that were created. */
  tokens: string[]
}

export const nothingAcknowledged = (): Acknowledged => ({
  started: new Map(),
  deleted: new Set(),
  tokens: [],
})

interface MigrationRow {
  id: number
  state: string
  reason: string | null
}

interface Expected {
  /** The reasons for which acknowledged migrations may fail. Default: all must be exported. */
  mayFail?: RegExp
}

/**
 * Asserts the invariants after any fault: every archive verifies, no migration is stuck, no lock and no
 * temporary file is left, no acknowledged write is lost. The service must be running; the check restarts it, and
 * stops it at the end.
 */
export async function assertInvariants(
  story: ExportStory,
  acknowledged: Acknowledged,
  { mayFail }: Expected = {},
): Promise<void> {
  const { service } = story
  for (const id of acknowledged.started.keys()) await story.untilEnded(id)
  await until('every migration ended', () => allEnded(story))
  assertEndedAsExpected(story, acknowledged, mayFail)
  await until('no lock is left', () => strayLocks(story).length === 0)
  await until('no unfinished file is left', () => unfinishedFiles(service).length === 0)
  // A blob may exist without a row; the next start sweeps it.
  await service.kill('SIGTERM')
  assertDatabaseIntact(service.data)
  await service.restartShared()
  // It sweeps while it serves: the row first, then the bytes.
  await until('nothing is left over', () => hasNothingLeftOver(service))
  for (const token of acknowledged.tokens)
    assert.equal((await service.call(token, '/user/migrations')).status, 200)
  for (const [id, states] of acknowledged.started) {
    if (acknowledged.deleted.has(id)) await assertDeleted(story, id)
    else if (stateOf(story, id).state === 'exported') await assertVerifies(story, id, states)
  }
  await service.stop()
}

const migrationsOf = ({ service }: ExportStory): MigrationRow[] =>
  rowsOf(service, 'select id, state, reason from migrations')

const stateOf = (story: ExportStory, id: number): MigrationRow =>
  migrationsOf(story).find((row) => row.id === id) ?? assert.fail(`migration ${id} is lost`)

function allEnded(story: ExportStory): boolean {
  const unfinished = migrationsOf(story).filter(({ state }) => !/^(exported|failed)$/.test(state))
  return unfinished.length === 0 && rowsOf(story.service, 'select id from jobs').length === 0
}

function assertEndedAsExpected(
  story: ExportStory,
  { started }: Acknowledged,
  mayFail?: RegExp,
): void {
  for (const id of started.keys()) {
    const { state, reason } = stateOf(story, id)
    if (state === 'exported') continue
    assert.ok(mayFail, `migration ${id} failed: ${reason}`)
    for (const line of reason!.split('\n')) assert.match(line, mayFail)
  }
}

/** Returns repositories that refuse pushes without a lock, and locks that no migration holds. */
function strayLocks({ host, service }: ExportStory): string[] {
  const sql = `select login || '/' || repositories.name as name, state, released_at from repository_locks
    join migrations on migrations.id = migration_id
    join repositories on repositories.id = repository_id
    join accounts on accounts.id = repositories.owner_id`
  type Row = { name: string; state: string; released_at: number | null }
  const rows = rowsOf<Row>(service, sql)
  const held = new Set(rows.flatMap((row) => (row.released_at === null ? [row.name] : [])))
  const unreleased = rows.filter(
    ({ state, released_at }) => released_at !== null || state === 'failed',
  )
  const known = rowsOf<{ name: string }>(
    service,
    `select login || '/' || name as name from repositories join accounts on accounts.id = owner_id`,
  )
  const refusing = known.filter(({ name }) => refusesPushes(host.path(name)) && !held.has(name))
  return [...unreleased, ...refusing].map(({ name }) => name)
}

function refusesPushes(dir: string): boolean {
  try {
    const values = git(dir, [
      'config',
      '--file',
      join(dir, 'config'),
      '--get-all',
      'receive.hideRefs',
    ])
    return values.split('\n').includes('refs/')
  } catch {
    return false
  }
}

/** The service must be stopped. */
function assertDatabaseIntact(data: string): void {
  using database = new DatabaseSync(join(data, 'godwit.sqlite'), { readOnly: true })
  assert.deepEqual(
    database
      .prepare('pragma integrity_check')
      .all()
      .map((row) => ({ ...row })),
    [{ integrity_check: 'ok' }],
  )
}

async function assertDeleted({ call }: ExportStory, id: number): Promise<void> {
  assert.equal((await call(`/user/migrations/${id}/archive`)).status, 404)
}

/** Verifies an archive with `godwit verify`, and with plain tar and git if the expected refs are known. */
async function assertVerifies(story: ExportStory, id: number, states?: RefStates): Promise<void> {
  const archive = await story.download(id)
  const { code, stdout, stderr } = await godwit(['verify', archive])
  assert.equal(code, 0, `${stdout}${stderr}`)
  await rm(archive)
  if (!states) return
  const unpacked = await story.unpack(id)
  assertArchiveHolds(unpacked, states)
  await rm(unpacked, { recursive: true })
}
