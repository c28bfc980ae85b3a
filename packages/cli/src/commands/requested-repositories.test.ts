import assert from 'node:assert/strict'
import { test } from 'node:test'
import { onSqlite, openDatabase } from '../../../../test/support/databases.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import { syncAllRepositories } from '../../../server/src/repositories/sync.ts'
import { findRequestedRepositories } from './requested-repositories.ts'

const oneCase = { skip: process.platform === 'darwin' && 'the file system disregards case' }

onSqlite('a repository on the command line', (engine) => {
  test('of an owner that differs only by case from a served one is refused', oneCase, async (t) => {
    const { db } = await openDatabase(t, engine)
    const host = await gitHost()
    t.after(host.remove)
    await host.repository('octo/tools', { files: { a: '1' } })
    const dependencies = {
      db,
      source: gitDirectory({ root: host.root, git: host.godwitGit }),
      now: Date.now,
    }
    await syncAllRepositories(dependencies)
    await host.repository('Octo/secret', { files: { a: '1' } })
    const { entries } = await findRequestedRepositories(dependencies, ['OCTO/tools'])
    assert.deepEqual(
      entries.map(({ owner, name }) => `${owner.login}/${name}`),
      ['octo/tools'],
    )
    await assert.rejects(findRequestedRepositories(dependencies, ['Octo/secret']), {
      message:
        'Octo and octo differ only by case: only repositories of octo are served, rename one',
    })
    await assert.rejects(findRequestedRepositories(dependencies, ['octo/secret']), {
      message: 'repository octo/secret does not exist',
    })
  })
})
