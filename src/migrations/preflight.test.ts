import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onEachEngine } from '../../test/support/databases.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { exportScene } from '../exporter/export-test-scene.ts'
import type { Source } from '../sources/source.ts'
import { ORDINARY } from './migration.ts'
import { forecast } from './preflight.ts'

const GIB = 2 ** 30

onEachEngine('a preflight', (engine) => {
  test('tells of an archive that no importer of GitHub takes', async (t) => {
    const { db, parts } = await exportScene(t, { 'alice/a': '1', 'alice/b': '2' }, engine)
    const scope = { owner: await ensureAccount(db, 'alice', 0) }
    const warningsFor = async (bytes: number, repositories: string[]) => {
      const examine = async () => ({ bytes, fingerprint: '', repository: { lfsObjects: [] } })
      const source = { ...parts.source, examine, warning: async () => 'of a' } as unknown as Source
      const limits = { maxUnfinished: 9, lockTtlMs: 1 }
      const order = { repositories, options: ORDINARY }
      const told = await forecast({ ...parts, ...limits, source }, scope, order)
      assert.deepEqual(
        told.repositories.map(({ warning }) => warning),
        repositories.map(() => 'of a'),
      )
      return told.warnings
    }
    assert.deepEqual(await warningsFor(40 * GIB, ['a']), [])
    const [warning, ...more] = await warningsFor(30 * GIB, ['a', 'b'])
    assert.match(warning!, /^GitHub's importers take archives of up to 40 GiB .* has 64 GB/)
    assert.deepEqual(more, [])
  })
})
