import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { Unreadable } from '../../git/src/unreadable.ts'
import type { FoundRepository, ListedEntry, Source } from './source.ts'

type Files = Readonly<Record<string, string>>

/** A source, and the actions of the users of the host behind it. */
export interface SourceUnderTest extends AsyncDisposable {
  source: Source
  /** Creates a repository, private by default; without files it is empty. */
  add(
    fullName: string,
    options?: { files?: Files; description?: string; public?: boolean; wiki?: Files },
  ): Promise<unknown>
  /** Pushes a commit to the default branch as a user does; rejects where the host refuses it. */
  push(fullName: string, files: Files): Promise<void>
  /** Removes the commit that HEAD names. */
  damage(fullName: string): Promise<void>
  destroy(fullName: string): Promise<void>
}

/** The tests that every source must pass. */
export function sourceContract(name: string, make: () => Promise<SourceUnderTest>): void {
  describe(`${name} as a source`, () => {
    let host: SourceUnderTest
    let source: Source

    beforeEach(async () => {
      host = await make()
      source = host.source
    })
    afterEach(() => host[Symbol.asyncDispose]())

    test('lists every repository once, always in the same order, wikis with their repository', async () => {
      for (const each of ['bob/one', 'alice/two', 'alice/one']) await host.add(each)
      await host.add('carol/site', { wiki: { 'Home.md': 'Hello' } })
      const entries = await Array.fromAsync(source.list())
      assert.deepEqual(entries.map(fullName).sort(), [
        'alice/one',
        'alice/two',
        'bob/one',
        'carol/site',
      ])
      assert.deepEqual(await Array.fromAsync(source.list()), entries)
      assert.equal((await source.find('carol', 'site'))?.hasWiki, true)
      assert.equal((await source.find('bob', 'one'))?.hasWiki, false)
    })

    test('finds a repository by its name in any case, and nothing where there is none', async () => {
      await host.add('Alice/Site', { files: { 'a.txt': 'a' } })
      const entries = await Array.fromAsync(source.list())
      for (const [owner, name] of [
        ['Alice', 'Site'],
        ['aLICE', 'sITE'],
      ] as const) {
        assert.deepEqual([{ found: await source.find(owner, name) }], entries)
      }
      for (const [owner, name] of [
        ['alice', 'other'],
        ['bob', 'site'],
        ['..', 'Alice'],
        ['Alice', '../Alice/Site'],
        ['Alice', ''],
        ['Alice\0', 'Site'],
      ] as const) {
        assert.equal(await source.find(owner, name), undefined, `${owner}/${name}`)
      }
    })

    test('a change token stays the same until a push', async () => {
      await host.add('alice/site', { files: { 'a.txt': 'a' } })
      await host.add('alice/other', { files: { 'a.txt': 'a' } })
      const site = await findRepository('alice/site')
      const other = await findRepository('alice/other')
      // A change token may get a list of files after its digest when the last change is some seconds old.
      const digestOf = ({ changeToken }: FoundRepository) => changeToken.split(/[:~]/, 1)[0]
      assert.equal(digestOf(await findRepository('alice/site')), digestOf(site))
      await host.push('alice/site', { 'a.txt': 'b' })
      assert.notEqual(digestOf(await findRepository('alice/site')), digestOf(site))
      assert.equal(digestOf(await findRepository('alice/other')), digestOf(other))
    })

    test('reads the metadata of a repository', async () => {
      await host.add('alice/site', {
        files: { 'main.py': 'print("hello")\n' },
        description: 'A site',
        public: true,
      })
      const metadata = await source.metadata(await findRepository('alice/site'))
      assert.equal(metadata.description, 'A site')
      assert.equal(metadata.private, false)
      assert.equal(metadata.language, 'Python')
      assert.match(metadata.headCommit ?? '', /^[0-9a-f]{40,64}$/)
      assert.ok(metadata.createdAt <= metadata.pushedAt && metadata.pushedAt <= metadata.updatedAt)
      assert.ok(metadata.sizeKib > 0)
    })

    test('an empty repository is private and has a default branch without a commit', async () => {
      await host.add('alice/empty')
      const metadata = await source.metadata(await findRepository('alice/empty'))
      assert.equal(metadata.private, true)
      assert.equal(metadata.description, '')
      assert.notEqual(metadata.defaultBranch, '')
      assert.deepEqual(
        [metadata.headCommit, metadata.language, metadata.license],
        [null, null, null],
      )
      assert.equal(metadata.pushedAt, metadata.createdAt)
    })

    test('keeps the known metadata while HEAD is the same, and reads again when it has moved', async () => {
      await host.add('alice/site', { files: { 'main.py': 'print(1)\n' } })
      const fresh = await source.metadata(await findRepository('alice/site'))
      const known = { ...fresh, language: 'Invented', license: 'Invented-1.0', createdAt: 1000 }
      const again = await source.metadata(await findRepository('alice/site'), known)
      assert.deepEqual(
        [again.language, again.license, again.createdAt],
        ['Invented', 'Invented-1.0', 1000],
      )
      await host.push('alice/site', { 'main.rb': 'puts 1\n'.repeat(100) })
      const moved = await source.metadata(await findRepository('alice/site'), known)
      assert.deepEqual([moved.language, moved.license, moved.createdAt], ['Ruby', null, 1000])
    })

    test('an unreadable repository is listed, and its metadata fails with a reason without a path', async () => {
      await host.add('alice/broken', { files: { 'a.txt': 'a' } })
      await host.add('alice/intact', { files: { 'a.txt': 'a' } })
      await host.damage('alice/broken')
      const broken = await findRepository('alice/broken')
      await assert.rejects(source.metadata(broken), (error) => {
        assert.ok(error instanceof Unreadable)
        assert.notEqual(error.message, '')
        assert.ok(!error.message.includes(tmpdir()), error.message)
        return true
      })
      assert.ok(await source.metadata(await findRepository('alice/intact')))
    })

    test('a removed repository is unreadable, not found and not listed', async () => {
      await host.add('alice/site', { files: { 'a.txt': 'a' } })
      const site = await findRepository('alice/site')
      await host.destroy('alice/site')
      await assert.rejects(source.metadata(site), Unreadable)
      await assert.rejects(source.reconcileLock(site, locked), Unreadable)
      assert.equal(await source.find('alice', 'site'), undefined)
      assert.deepEqual(await Array.fromAsync(source.list()), [])
    })

    test('an abort rejects with its reason, not with Unreadable', async () => {
      await host.add('alice/site', { files: { 'a.txt': 'a' } })
      const reason = new Error('enough')
      const stopped = source.metadata(
        await findRepository('alice/site'),
        undefined,
        AbortSignal.abort(reason),
      )
      await assert.rejects(stopped, reason)
    })

    test('a lock refuses pushes until it is removed, however often it was set', async () => {
      await host.add('alice/site', { files: { 'a.txt': 'a' }, wiki: { 'Home.md': 'Hello' } })
      const site = await findRepository('alice/site')
      await source.checkLock(site)
      await source.reconcileLock(site, locked)
      await source.reconcileLock(site, locked)
      await assert.rejects(host.push('alice/site', { 'a.txt': 'b' }))
      await assert.rejects(host.push('alice/site.wiki', { 'Home.md': 'Bye' }))
      assert.ok(await source.metadata(await findRepository('alice/site')))
      await source.reconcileLock(site, open)
      await host.push('alice/site', { 'a.txt': 'b' })
      await host.push('alice/site.wiki', { 'Home.md': 'Bye' })
    })

    test('unlocking an unlocked repository changes nothing; unlocking a missing one fails', async () => {
      await host.add('alice/site', { files: { 'a.txt': 'a' } })
      const site = await findRepository('alice/site')
      await source.reconcileLock(site, open)
      await host.push('alice/site', { 'a.txt': 'b' })
      await host.destroy('alice/site')
      await assert.rejects(source.reconcileLock(site, open), Unreadable)
    })

    async function findRepository(fullName: string): Promise<FoundRepository> {
      const [owner = '', repository = ''] = fullName.split('/')
      const entry = await source.find(owner, repository)
      assert.ok(entry, `${fullName} is not found`)
      return entry
    }
  })
}

const locked = async () => true
const open = async () => false

function fullName(entry: ListedEntry): string {
  assert.ok('found' in entry, JSON.stringify(entry))
  return `${entry.found.owner}/${entry.found.name}`
}
