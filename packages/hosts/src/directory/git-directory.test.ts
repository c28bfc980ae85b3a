import assert from 'node:assert/strict'
import { chmod, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { asNobody } from '../../../../test/support/as-nobody.ts'
import { type GitHost, gitHost } from '../../../../test/support/git-host.ts'
import { RepositoryNotFound, Unreadable } from '../../../git/src/unreadable.ts'
import { sourceContract } from '../source.contract.ts'
import type { Source } from '../source.ts'
import { gitDirectory } from './git-directory.ts'

sourceContract('a git directory', async () => {
  const host = await gitHost()
  return {
    source: gitDirectory({ root: host.root, git: host.godwitGit }),
    add: host.repository,
    push: host.push,
    destroy: (fullName) => rm(host.path(fullName), { recursive: true }),
    async damage(fullName) {
      const dir = host.path(fullName)
      await rm(join(dir, 'objects'), { recursive: true })
      await mkdir(join(dir, 'objects'))
    },
    [Symbol.asyncDispose]: host.remove,
  }
})

describe('the tree of a git directory', () => {
  let host: GitHost
  let source: Source

  beforeEach(async () => {
    host = await gitHost()
    source = gitDirectory({ root: host.root, git: host.godwitGit })
  })
  afterEach(() => host.remove())

  /** Lists `owner/name`, or `path: reason` for a refused entry. */
  async function listed(): Promise<string[]> {
    const entries = await Array.fromAsync(source.list())
    return entries.map((entry) => {
      if ('found' in entry) return `${entry.found.owner}/${entry.found.name}`
      return 'refused' in entry
        ? `${entry.refused.path}: ${entry.refused.reason}`
        : entry.members.owner
    })
  }
  const at = (...path: string[]) => join(host.root, ...path)

  test('entries that do not look like a repository are skipped', async () => {
    await host.repository('alice/site')
    await writeFile(at('README'), 'Repositories')
    await writeFile(at('alice', 'notes.txt'), 'notes')
    await mkdir(at('lost+found'))
    await mkdir(at('alice', 'empty'))
    await symlink('README', at('READ.ME'))
    await symlink('nowhere', at('dangling'))
    assert.deepEqual(await listed(), ['alice/site'])
  })

  test('invalid names are refused', async () => {
    for (const name of ['a b', 'ä', '.', 'twice.git', 'ok-1_2.x'])
      await host.repository(`alice/${name}`)
    await mkdir(at('alice', '.git'))
    await host.repository('bob smith/site')
    const characters = 'its name has characters other than letters, digits, ".", "_" and "-"'
    assert.deepEqual(await listed(), [
      'alice/..git: it has no name',
      'alice/.git: it has no name',
      `alice/a b.git: ${characters}`,
      'alice/ok-1_2.x',
      'alice/twice.git.git: its name ends in .git',
      `alice/ä.git: ${characters}`,
      `bob smith: ${characters}`,
    ])
  })

  const oneCase = { skip: process.platform === 'darwin' && 'the file system disregards case' }
  test('the first of several names that differ only in case is listed', oneCase, async () => {
    for (const each of ['alice/Site', 'alice/site', 'Alice/x', 'ALICE/y'])
      await host.repository(each)
    await mkdir(at('AliCe'))
    assert.deepEqual(await listed(), [
      'ALICE/y',
      'Alice: differs only by case from ALICE, which is served instead; rename one',
      'alice: differs only by case from ALICE, which is served instead; rename one',
    ])
    assert.equal((await source.find('Alice', 'x'))?.owner, 'Alice')
    assert.equal(await source.find('ALICE', 'x'), undefined)
    const known = await Array.fromAsync(source.list(() => 'alice'))
    assert.deepEqual(
      known.flatMap((row) => ('found' in row ? row.found.owner : [])),
      ['alice'],
    )
    await rename(at('ALICE'), at('zoe'))
    await rename(at('Alice'), at('yan'))
    assert.deepEqual(await listed(), [
      'alice/Site',
      'alice/site.git: differs only by case from Site, which is served instead; rename one',
      'yan/x',
      'zoe/y',
    ])
    assert.equal((await source.find('alice', 'site'))?.name, 'Site')
  })

  test(
    'an entry that is not a repository does not take the name of one in another case',
    oneCase,
    async () => {
      await mkdir(at('alice', 'Site.git'), { recursive: true })
      await host.repository('alice/site')
      assert.deepEqual(await listed(), ['alice/Site.git: not a bare git repository', 'alice/site'])
      assert.equal((await source.find('alice', 'SITE'))?.name, 'site')
    },
  )

  test('no links are followed', async () => {
    await using elsewhere = await gitHost()
    await host.repository('alice/site')
    await symlink(await elsewhere.repository('mallory/site'), at('alice', 'out.git'))
    await symlink('site.git', at('alice', 'inside.git'))
    await symlink('loop.git', at('alice', 'loop.git'))
    await symlink('site.git', at('alice', 'site.wiki.git'))
    await symlink('alice', at('bob'))
    await symlink('loop', at('loop'))
    await symlink('x'.repeat(300), at('too-long'))
    const link = 'a symbolic link; the directory itself must be here'
    assert.deepEqual(await listed(), [
      `alice/inside.git: ${link}`,
      `alice/loop.git: ${link}`,
      `alice/out.git: ${link}`,
      'alice/site',
      `alice/site.wiki.git: ${link}`,
      `bob: ${link}`,
    ])
    assert.equal((await source.find('alice', 'site'))?.hasWiki, false)
    assert.equal(await source.find('bob', 'site'), undefined)
  })

  test('misplaced repositories are refused', async () => {
    await host.repository('alice/site')
    await host.repository('top')
    await host.repository('alice/group/deep')
    await host.repository('alice/group/sub/deeper')
    await host.git(['init', '--quiet', '--bare', at('bob')])
    await host.git(['init', '--quiet', '--bare', at('carol', 'unnamed')])
    await host.git(['init', '--quiet', at('carol', 'checkout')])
    await writeFile(at('alice', 'file.git'), 'gitdir: elsewhere')
    await mkdir(at('alice', 'hollow.git'))
    const misplaced = 'a repository must be at OWNER/NAME.git'
    assert.deepEqual(await listed(), [
      `alice/group/deep.git: ${misplaced}`,
      `alice/group/sub/deeper.git: ${misplaced}`,
      'alice/file.git: not a bare git repository',
      'alice/hollow.git: not a bare git repository',
      'alice/site',
      `bob: ${misplaced}`,
      `carol/checkout/.git: ${misplaced}`,
      `carol/unnamed: ${misplaced}`,
      `top.git: ${misplaced}`,
    ])
  })

  test('a damaged repository is unlocked; a directory without a config is not a repository', async () => {
    const site = { owner: 'alice', name: 'site' }
    await host.repository('alice/site', { files: { a: 'a' } })
    await source.reconcileLock(site, async () => true)
    await rm(at('alice', 'site.git', 'HEAD'))
    await source.reconcileLock(site, async () => false)
    assert.equal(await source.hasLock(site), false)
    await rm(at('alice', 'site.git', 'config'))
    await assert.rejects(
      source.reconcileLock(site, async () => false),
      RepositoryNotFound,
    )
  })

  test('a damaged wiki does not prevent a lock, and is unlocked', async () => {
    const site = { owner: 'alice', name: 'site' }
    await host.repository('alice/site', { files: { a: 'a' }, wiki: { 'Home.md': 'Hello' } })
    const config = at('alice', 'site.wiki.git', 'config')
    const before = await readFile(config, 'utf8')
    await source.reconcileLock(site, async () => true)
    assert.notEqual(await readFile(config, 'utf8'), before)
    await rm(at('alice', 'site.wiki.git', 'HEAD'))
    await source.checkLock(site)
    await source.reconcileLock(site, async () => true)
    assert.equal(await readFile(config, 'utf8'), before)
    await rm(config)
    await source.reconcileLock(site, async () => true)
    await source.reconcileLock(site, async () => false)
    await host.push('alice/site', { a: 'b' })
  })

  test('a damaged wiki is reported and fails the export of its repository', async () => {
    const { signal } = new AbortController()
    const examined = () => source.examine({ owner: 'alice', name: 'site' }, signal)
    await host.repository('alice/site', { files: { a: 'a' }, wiki: { 'Home.md': 'Hello' } })
    const wiki = at('alice', 'site.wiki.git')
    for (const part of ['HEAD', 'objects', 'refs']) {
      await rename(join(wiki, part), at(part))
      assert.deepEqual(await listed(), [
        'alice/site',
        'alice/site.wiki.git: not a bare git repository',
      ])
      await assert.rejects(examined, {
        name: 'Damaged',
        message: 'alice/site.wiki: not a bare git repository',
      })
      await rename(at(part), join(wiki, part))
    }
    assert.ok((await examined()).wiki)
    await rename(wiki, at('elsewhere'))
    await symlink(at('elsewhere'), wiki)
    await assert.rejects(examined, /alice\/site\.wiki: a symbolic link/)
    await rm(wiki)
    await writeFile(wiki, 'a file')
    await assert.rejects(examined, /alice\/site\.wiki: not a bare git repository/)
    await rm(wiki)
    assert.equal((await examined()).wiki, null)
  })

  test('a wiki without its repository is a repository', async () => {
    await host.repository('alice/site.wiki')
    await host.repository('bob/site.wiki')
    await host.repository('bob/site')
    await mkdir(at('bob', 'other.wiki.git'))
    await host.repository('bob/other')
    assert.deepEqual(await listed(), [
      'alice/site.wiki',
      'bob/other',
      'bob/other.wiki.git: not a bare git repository',
      'bob/site',
    ])
    assert.equal(await source.find('bob', 'site.wiki'), undefined)
    assert.equal((await source.find('bob', 'other'))?.hasWiki, false)
  })

  test('an unreadable directory is refused, and the others are listed', async () => {
    await host.repository('alice/closed')
    await host.repository('alice/open')
    await host.repository('bob/site')
    const closed = [at('alice', 'closed.git'), at('bob')]
    for (const dir of closed) await chmod(dir, 0)
    await chmod(join(host.root, '..'), 0o755)
    const rows = await asNobody(listed)
    for (const dir of closed) await chmod(dir, 0o755)
    assert.deepEqual(rows, [
      'alice/closed.git: permission denied',
      'alice/open',
      'bob: permission denied',
    ])
  })

  test('a link to a directory that may not be read is refused', async () => {
    const closed = join(host.root, '..', 'closed')
    await mkdir(join(closed, 'alice'), { recursive: true })
    await symlink(join(closed, 'alice'), at('alice'))
    await chmod(closed, 0)
    await chmod(join(host.root, '..'), 0o755)
    const entries = await asNobody(listed)
    await chmod(closed, 0o755)
    assert.deepEqual(entries, [
      'alice: a symbolic link whose target cannot be read: permission denied',
    ])
  })

  test('a repository in a directory that may not be read is not reported as gone', async () => {
    await host.repository('alice/site')
    await chmod(at('alice'), 0)
    await chmod(join(host.root, '..'), 0o755)
    const { signal } = new AbortController()
    const site = { owner: 'alice', name: 'site' }
    const error = await asNobody(() => source.examine(site, signal).catch((error) => error))
    await chmod(at('alice'), 0o755)
    assert.ok(error instanceof Unreadable)
    assert.equal(error.message, 'alice/site: permission denied')
  })

  test('a missing root is an error, not an empty source', async () => {
    await rm(host.root, { recursive: true })
    await assert.rejects(listed(), Unreadable)
    await assert.rejects(source.find('alice', 'site'), Unreadable)
  })
})
