import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onSqlite } from '../../../../test/support/databases.ts'
import { exportScene } from '../../../../test/support/export-scene.ts'
import type { Source } from '../../../hosts/src/source.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { recordHeartbeat } from '../queue/process-store.ts'
import { forecast } from './forecast.ts'
import { DEFAULT_OPTIONS } from './migration.ts'

const GIB = 2 ** 30

onSqlite('a preflight', (engine) => {
  test('warns of an archive that is too large for GitHub', async (t) => {
    const { db, dependencies } = await exportScene(t, { 'alice/a': '1', 'alice/b': '2' }, engine)
    const scope = { owner: await ensureAccount(db, 'alice', 0) }
    const warningsFor = async (bytes: number, repositories: string[]) => {
      const examine = async () => ({ bytes, fingerprint: '', repository: { lfsObjects: [] } })
      const source = {
        ...dependencies.source,
        examine,
        warning: async () => 'of a',
      } as unknown as Source
      const limits = { maxUnfinished: 9, lockTtlMs: 1 }
      const request = { repositories, options: DEFAULT_OPTIONS }
      const found = await forecast({ ...dependencies, ...limits, source }, scope, request)
      assert.deepEqual(
        found.repositories.map(({ warning }) => warning),
        repositories.map(() => 'of a'),
      )
      return found.warnings
    }
    assert.deepEqual(await warningsFor(40 * GIB, ['a']), [])
    const [warning, ...more] = await warningsFor(30 * GIB, ['a', 'b'])
    assert.match(warning!, /^GitHub's importers take archives of up to 40 GiB .* has 64 GB/)
    assert.deepEqual(more, [])
  })

  test('warns if the archive does not fit on the disk', async (t) => {
    const { db, dependencies } = await exportScene(t, { 'alice/a': '1' }, engine)
    const scope = { owner: await ensureAccount(db, 'alice', 0) }
    const now = dependencies.now()
    const worker = { id: 'w', host: 'box', pid: 7, role: 'worker', version: '1' } as const
    const times = { concurrency: 1, runningJobs: 0, startedAt: now, seenAt: now, scratchBytes: 0 }
    const examine = async () => ({ bytes: 120e6, fingerprint: '', repository: { lfsObjects: [] } })
    const source = {
      ...dependencies.source,
      examine,
      warning: async () => null,
    } as unknown as Source
    const request = { repositories: ['a'], options: DEFAULT_OPTIONS }
    const warningsWith = async (freeBytes: number) => {
      await recordHeartbeat(db, { ...worker, ...times, freeBytes })
      const limits = { maxUnfinished: 9, lockTtlMs: 1 }
      return (await forecast({ ...dependencies, ...limits, source }, scope, request)).warnings
    }
    assert.deepEqual(await warningsWith(41e6), [
      "it does not fit on the server's disk: 120 MB to write, 41 MB free",
    ])
    assert.deepEqual(await warningsWith(120e6), [])
  })
})
