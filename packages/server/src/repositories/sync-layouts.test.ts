import assert from 'node:assert/strict'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { onEachEngine, openDatabase } from '../../../../test/support/databases.ts'
import { gitHost } from '../../../../test/support/git-host.ts'
import { listIndex } from '../../../../test/support/list-index.ts'
import { gitDirectory } from '../../../hosts/src/directory/git-directory.ts'
import type { ListedEntry, Source } from '../../../hosts/src/source.ts'
import { syncAllRepositories } from './sync.ts'

onEachEngine('the repository index with other layouts', (engine) => {
  test('never replaces one repository by another of the same name', async (t) => {
    const { db } = await openDatabase(t, engine)
    const host = await gitHost()
    t.after(host.remove)
    const layout = { kind: 'any-depth' } as const
    const source = gitDirectory({ root: host.root, git: host.godwitGit, layout })
    const sync = () => syncAllRepositories({ db, source, now: Date.now })
    const listNames = async () =>
      (await listIndex(db)).map(
        (e) => `${e.id} ${e.owner.login}/${e.name} ${e.metadata.description}`,
      )
    await host.repository('octo/a/b', { description: 'first' })
    await sync()
    assert.deepEqual(await listNames(), ['1 octo/a-b first'])

    await host.repository('octo/a-b', { description: 'second' })
    for (const when of ['now', 'the next time']) {
      const { found, missing, refused } = await sync()
      assert.deepEqual([found, missing], [0, 0], when)
      assert.deepEqual(
        refused.map(({ path }) => path),
        ['octo/a/b.git', 'octo/a-b.git'],
      )
      assert.deepEqual(await listNames(), ['1 octo/a-b first'], when)
    }
    await rename(join(host.root, 'octo/a-b.git'), join(host.root, 'octo/c.git'))
    await sync()
    const [first, second] = await listNames()
    assert.equal(first, '1 octo/a-b first')
    // PostgreSQL leaves gaps between ids.
    assert.match(second!, /^(?!1 )\d+ octo\/c second$/)
    await rm(join(host.root, 'octo/a'), { recursive: true })
    assert.equal((await sync()).missing, 1)
  })

  test('a repository that is no longer served is removed from the list; an unreadable one stays', async (t) => {
    const { db } = await openDatabase(t, engine)
    const host = await gitHost()
    t.after(host.remove)
    for (const name of ['octo/a', 'octo/b', 'octo/deep-c', 'octo/d']) await host.repository(name)
    const directory = gitDirectory({ root: host.root, git: host.godwitGit })
    await syncAllRepositories({ db, source: directory, now: Date.now })
    const list: Source['list'] = async function* (): AsyncGenerator<ListedEntry, void, void> {
      const hiddenRepositories = { fullName: 'octo/a' }
      yield {
        refused: { path: 'a.git', reason: 'withdrawn', hiddenRepositories, isWithdrawn: true },
      }
      yield {
        refused: {
          path: 'b.git',
          reason: 'unreadable',
          hiddenRepositories: { fullName: 'Octo/B' },
        },
      }
      yield {
        refused: {
          path: 'octo/deep',
          reason: 'unreadable',
          hiddenRepositories: { prefix: 'octo/deep-' },
        },
      }
    }
    await syncAllRepositories({ db, source: { ...directory, list }, now: Date.now })
    assert.deepEqual(
      (await listIndex(db)).map(({ name }) => name),
      ['b', 'deep-c'],
    )
  })
})
