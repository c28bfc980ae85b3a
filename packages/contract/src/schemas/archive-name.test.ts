import assert from 'node:assert/strict'
import { test } from 'node:test'
import { archiveName } from './archive-name.ts'

test('the name of an archive has its owner and date', () => {
  const at = new Date('2026-11-15T23:30:00-07:00')
  const nameOf = (login: string, name?: string | null) =>
    archiveName({ id: 7, login, createdAt: at, name })
  assert.equal(nameOf('alice'), 'migration-7-alice-2026-11-16.tar.gz')
  assert.equal(nameOf('../a b', null), 'migration-7-.._a_b-2026-11-16.tar.gz')
  assert.equal(nameOf('a', '../v1.2: "done"'), 'migration-7-a-v1-2-done-2026-11-16.tar.gz')
  assert.equal(nameOf('a', '移行'), 'migration-7-a-2026-11-16.tar.gz')
  assert.equal(
    nameOf('a', `${'x'.repeat(49)} y`),
    `migration-7-a-${'x'.repeat(49)}-2026-11-16.tar.gz`,
  )
})
