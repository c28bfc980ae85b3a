import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { asNobody } from '../../../../../test/support/as-nobody.ts'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import { RepositoryNotFound, Unreadable } from '../../../../git/src/unreadable.ts'
import { sourceContract } from '../../source.contract.ts'
import type { Source } from '../../source.ts'
import { gitDirectory } from '../git-directory.ts'
import type { LayoutOptions } from './create-layout.ts'

sourceContract('a git directory of any depth', async () => {
  const host = await gitHost()
  return {
    source: gitDirectory({ root: host.root, git: host.godwitGit, layout: { kind: 'any-depth' } }),
    add: host.repository,
    push: host.push,
    destroy: (fullName) => rm(host.path(fullName), { recursive: true }),
    async damage(fullName) {
      const objects = join(host.path(fullName), 'objects')
      await rm(objects, { recursive: true })
      await mkdir(objects)
    },
    [Symbol.asyncDispose]: host.remove,
  }
})

describe('layouts of a git directory', () => {
  let host: GitHost
  let source: Source

  beforeEach(async () => {
    host = await gitHost()
  })
  afterEach(() => host.remove())

  const use = (layout: LayoutOptions) => {
    source = gitDirectory({ root: host.root, git: host.godwitGit, layout })
  }
  const at = (...path: string[]) => join(host.root, ...path)
  const signal = new AbortController().signal

  /** Lists `owner/name`, or `path: reason` for a refused entry. */
  async function listed(): Promise<string[]> {
    const rows = await Array.fromAsync(source.list())
    return rows.map((row) => {
      if ('found' in row) return `${row.found.owner}/${row.found.name}`
      return 'refused' in row
        ? `${row.refused.path}: ${row.refused.reason}`
        : `members of ${row.members.owner}: ${row.members.members?.map(({ login }) => login)}`
    })
  }
  async function push(fullName: string, path: string): Promise<void> {
    await host.push(path, { b: 'b' }).catch((error: unknown) => {
      throw new Error(`${fullName} refused a push`, { cause: error })
    })
  }
  const [yes, no] = [async () => true, async () => false]

  describe('flat', () => {
    beforeEach(() => use({ kind: 'flat', owner: 'Team' }))

    test('every repository in the root belongs to the one owner', async () => {
      await host.repository('site', { files: { a: 'a' }, wiki: { 'Home.md': 'Hello' } })
      await host.repository('other.wiki')
      await host.repository('deep/down')
      await host.git(['init', '--quiet', '--bare', at('unnamed')])
      await symlink('site.git', at('link.git'))
      await writeFile(at('godwit-members'), 'alice owner\n')
      const misplaced = 'a repository must be at NAME.git (--layout flat)'
      assert.deepEqual(await listed(), [
        `deep/down.git: ${misplaced}`,
        `unnamed: ${misplaced}`,
        'members of Team: alice',
        'link.git: a symbolic link; the directory itself must be here',
        'Team/other.wiki',
        'Team/site',
      ])
      assert.equal((await source.find('team', 'SITE'))?.hasWiki, true)
      assert.equal(await source.find('deep', 'down'), undefined)
      assert.equal((await source.members('team'))?.members?.length, 1)
      const examined = await source.examine({ owner: 'Team', name: 'site' }, signal)
      assert.ok(JSON.stringify(examined).includes(at('site.git')))
      await assert.rejects(source.examine({ owner: 'deep', name: 'down' }, signal), Unreadable)
    })

    test('the root may be a link; nothing below it may', async () => {
      await host.repository('site', { files: { a: 'a' } })
      const root = `${host.root}-link`
      await symlink(host.root, root)
      try {
        source = gitDirectory({
          root,
          git: host.godwitGit,
          layout: { kind: 'flat', owner: 'Team' },
        })
        const site = { owner: 'Team', name: 'site' }
        assert.equal((await source.examine(site, signal)).wiki, null)
        const fetch = { phase: 'advertisement', isWiki: false, signal } as const
        const response = await source.serveFetch(site, { ...fetch, protocolVersion: 0 })
        assert.match(await text(response.stdout), /refs\/heads\/main/)
      } finally {
        await rm(root)
      }
    })

    test('a repository is locked and unlocked in its directory', async () => {
      await host.repository('site', { files: { a: 'a' }, wiki: { 'Home.md': 'Hello' } })
      const site = { owner: 'Team', name: 'site' }
      await source.reconcileLock(site, yes)
      assert.equal(await source.hasLock(site), true)
      await assert.rejects(push('Team/site', 'site'))
      await assert.rejects(push('Team/site.wiki', 'site.wiki'))
      await source.reconcileLock(site, no)
      await push('Team/site', 'site')
    })
  })

  describe('any depth', () => {
    beforeEach(() => use({ kind: 'any-depth' }))

    test('a repository that a restore is unpacking is not listed', async () => {
      await host.repository('alice/site', { files: { a: 'a' } })
      await host.repository('.godwit-restore-x/unpacked/alice/other', { files: { a: 'a' } })
      assert.deepEqual(await listed(), ['alice/site'])
    })

    test('the first directory is the owner, the others are joined to form the name', async () => {
      await host.repository('octo/site', { files: { a: 'a' } })
      await host.repository('octo/web/shop/cart', { files: { a: 'a' }, wiki: { 'Home.md': 'Hi' } })
      await host.repository('octo/web/shop.wiki')
      await host.repository('top')
      await host.repository('octo/a b/c')
      await host.git(['init', '--quiet', at('octo', 'checkout')])
      await host.git(['init', '--quiet', '--bare', at('octo', 'unnamed')])
      await symlink('web', at('octo', 'link'))
      assert.deepEqual(await listed(), [
        'octo/link: a symbolic link; the directory itself must be here',
        'octo/unnamed: a bare repository must have a name that ends in .git',
        'octo/a b/c.git: its name has characters other than letters, digits, ".", "_" and "-"',
        'octo/checkout/.git: it has no name',
        'octo/site',
        'octo/web-shop-cart',
        'octo/web-shop.wiki',
        'top.git: it is not in the directory of an owner: set --owner LOGIN to name its owner',
      ])
      const cart = await source.find('OCTO', 'web-SHOP-cart')
      assert.deepEqual([cart?.name, cart?.hasWiki], ['web-shop-cart', true])
      for (const name of ['web', 'web-shop', 'cart', 'web-shop-', '-web-shop-cart'])
        assert.equal(await source.find('octo', name), undefined, name)
      const examined = await source.examine(cart!, signal)
      assert.ok(JSON.stringify(examined).includes(at('octo/web/shop/cart.git')))
      await source.reconcileLock(cart!, yes)
      await assert.rejects(push('octo/web-shop-cart', 'octo/web/shop/cart'))
      await source.reconcileLock(cart!, no)
      await push('octo/web-shop-cart', 'octo/web/shop/cart')
    })

    test('repositories in the root belong to the named owner, as do those in a directory of that name', async () => {
      use({ kind: 'any-depth', owner: 'git' })
      for (const name of ['testing', 'git/tools/x', 'git/y', 'y', 'Git/z', 'octo/site'])
        await host.repository(name)
      assert.deepEqual((await listed()).sort(), [
        'Git: differs only by case from git, which is served instead; rename one',
        'git/testing',
        'git/tools-x',
        'git/y.git: its name would be git/y, the same as that of y.git',
        'octo/site',
        'y.git: its name would be git/y, the same as that of git/y.git',
      ])
      assert.equal((await source.find('git', 'tools-x'))?.owner, 'git')
      assert.equal(await source.find('git', 'y'), undefined)
    })

    test('several repositories with the same name are all refused, now and later, whichever was first', async () => {
      await host.repository('octo/web-shop', { files: { a: 'first' } })
      assert.deepEqual(await listed(), ['octo/web-shop'])
      const known = (await source.find('octo', 'web-shop'))!
      await source.reconcileLock(known, yes)
      await host.repository('octo/Web/shop', { files: { a: 'second' } })
      const both = [
        'octo/Web/shop.git: its name would be octo/Web-shop, the same as that of octo/web-shop.git',
        'octo/web-shop.git: its name would be octo/web-shop, the same as that of octo/Web/shop.git',
      ]
      assert.deepEqual(await listed(), both)
      assert.deepEqual(await listed(), both)
      assert.equal(await source.find('octo', 'web-shop'), undefined)
      for (const act of [
        () => source.metadata(known),
        () => source.examine(known, signal),
        () => source.checkLock(known),
        () => source.reconcileLock(known, yes),
      ])
        await assert.rejects(act, /several repositories have this name: octo\/.*shop.git, octo\//)
      const second = await readFile(at('octo/Web/shop.git/config'), 'utf8')
      assert.equal(await source.hasLock(known), true)
      await source.reconcileLock(known, no)
      assert.equal(await source.hasLock(known), false, 'the lock of the first is taken off')
      assert.equal(await readFile(at('octo/Web/shop.git/config'), 'utf8'), second)
      await rename(at('octo/Web'), at('octo/other'))
      assert.deepEqual(await listed(), ['octo/other-shop', 'octo/web-shop'])
    })

    test('a repository in an unreadable directory is not reported as gone', async () => {
      await host.repository('octo/web/shop')
      await chmod(at('octo/web'), 0)
      await chmod(join(host.root, '..'), 0o755)
      const reconciling = (name: string) =>
        asNobody(() => source.reconcileLock({ owner: 'octo', name }, no).catch(String))
      const there = await reconciling('web-shop')
      const gone = await reconciling('other')
      await chmod(at('octo/web'), 0o755)
      assert.match(String(there), /^Unreadable: octo\/web: /)
      assert.match(String(gone), /the repository no longer exists/)
    })

    test('a repository that cannot be read now keeps its name', async () => {
      await host.repository('octo/web-shop')
      await host.repository('octo/web/shop')
      await chmod(at('octo/web-shop.git'), 0)
      await chmod(join(host.root, '..'), 0o755)
      const rows = await asNobody(listed)
      await chmod(at('octo/web-shop.git'), 0o755)
      assert.deepEqual(
        rows.map((row) => row.split(':')[0]),
        ['octo/web/shop.git', 'octo/web-shop.git'],
      )
    })
  })
})

test('a name that may be in lower case is not reported as gone in an unreadable directory', async (t) => {
  const host = await gitHost()
  t.after(host.remove)
  await host.repository('Ann/Site')
  const layout = { kind: 'owner/name', mayBeLowerCase: true } as const
  const source = gitDirectory({ root: host.root, git: host.godwitGit, layout })
  const reconciling = () => source.reconcileLock({ owner: 'Ann', name: 'Site' }, async () => false)
  await chmod(join(host.root, 'Ann'), 0)
  await chmod(join(host.root, '..'), 0o755)
  const refused = await asNobody(() => reconciling().catch((error: unknown) => error))
  await chmod(join(host.root, 'Ann'), 0o755)
  assert.ok(
    refused instanceof Unreadable && !(refused instanceof RepositoryNotFound),
    String(refused),
  )
  await reconciling()
})
