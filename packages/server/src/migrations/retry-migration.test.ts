import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import type { InvalidRequest } from '../../../lib/src/request-errors.ts'
import { ensureAccount } from '../accounts/account-store.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import { fullNameOf } from '../repositories/repository-metadata.ts'
import { syncAllRepositories } from '../repositories/sync.ts'
import { heldLocks } from './lock-store.ts'
import { DEFAULT_OPTIONS } from './migration.ts'
import { findMigration } from './migration-store.ts'
import { progressOf } from './progress.ts'
import { repositoriesOf } from './repository-list-store.ts'
import { forecastRetry, retryMigration } from './retry-migration.ts'
import { startMigration } from './start-migration.ts'

const NAMES = ['alice/missing', 'alice/own', 'bob/closed', 'bob/open']
const SKIPPED = ['skipped', 'it no longer exists, or may no longer be migrated']

onEachEngine('a partial retry', (engine) => {
  test('skips missing and no longer covered repositories, and neither locks them nor shows their details', async (t) => {
    const { db } = await openDatabase(t, engine)
    const host = await gitHost()
    t.after(host.remove)
    for (const name of NAMES) {
      const isOpen = name === 'bob/open'
      const config = {
        'godwit.description': `about ${name}`,
        'godwit.private': String(!isOpen),
        ...(name.startsWith('bob/') && { 'godwit.collaborator': 'alice:admin' }),
      }
      await host.repository(name, { files: { a: '1' }, config })
    }
    const source = gitDirectory({ root: host.root, git: host.godwitGit })
    const queue = embeddedQueue({ db })
    const dependencies = { db, queue, source, now: Date.now, maxUnfinished: 9, lockTtlMs: 60_000 }
    await syncAllRepositories(dependencies)
    const scope = { owner: await ensureAccount(db, 'alice', 0) }
    const options = { ...DEFAULT_OPTIONS, lockRepositories: true }
    const { id } = await startMigration(dependencies, scope, {
      repositories: NAMES,
      name: 'the move',
      options,
    })
    await db.updateTable('migrations').set({ state: 'failed' }).execute()
    await db.deleteFrom('repository_locks').execute()

    await rm(host.path('alice/missing'), { recursive: true })
    for (const name of ['bob/closed', 'bob/open'])
      await host.git(['config', '--unset', 'godwit.collaborator'], { dir: host.path(name) })
    await syncAllRepositories(dependencies)
    const failed = (await findMigration(db, scope, id))!
    const { broken } = await forecastRetry(dependencies, scope, failed)
    assert.deepEqual(
      broken.map(({ fullName, isMissing, isChanged }) => [fullName, isMissing, isChanged]),
      ['alice/missing', 'bob/closed', 'bob/open'].map((name) => [name, true, null]),
    )
    const complete = retryMigration(dependencies, scope, failed, { allowPartial: false })
    await assert.rejects(complete, ({ errors }: InvalidRequest) => errors.length === 3)

    const retried = await retryMigration(dependencies, scope, failed, { allowPartial: true })
    assert.equal(retried.name, 'the move')
    assert.deepEqual(
      (await repositoriesOf(db, retried)).map((metadata) => [
        fullNameOf(metadata),
        metadata.description,
      ]),
      [
        ['alice/missing', 'about alice/missing'],
        ['alice/own', 'about alice/own'],
        ['bob/closed', ''],
        ['bob/open', 'about bob/open'],
      ],
    )
    const { repositories } = await progressOf(db, retried)
    assert.deepEqual(
      repositories.map(({ state, reason }) => [state, reason]),
      [SKIPPED, ['waiting', null], SKIPPED, SKIPPED],
    )
    const locks = await heldLocks(db, retried.id)
    assert.deepEqual(
      locks.map(({ owner, name }) => `${owner}/${name}`),
      ['alice/own'],
    )
    const { remaining, skipped_count } = await db
      .selectFrom('migrations')
      .select(['remaining', 'skipped_count'])
      .where('id', '=', retried.id)
      .executeTakeFirstOrThrow()
    assert.deepEqual([remaining, skipped_count], [1, 3])
  })
})
