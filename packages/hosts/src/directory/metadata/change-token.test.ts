import assert from 'node:assert/strict'
import {
  appendFile,
  chmod,
  link,
  mkdir,
  readdir,
  readFile,
  rm,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, type TestContext, test } from 'node:test'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import type { Source } from '../../source.ts'
import { gitDirectory } from '../git-directory.ts'

describe('the change token of a repository', () => {
  let host: GitHost
  let source: Source
  let dir: string

  before(async () => {
    host = await gitHost()
    source = gitDirectory({ root: host.root, git: host.godwitGit })
    dir = await host.repository('alice/site', { files: { 'a.txt': 'a' }, description: 'A site' })
  })
  after(() => host.remove())

  const changeToken = async (last?: string) =>
    (await source.find('alice', 'site', last))?.changeToken
  const git = (...args: string[]) => host.git(args, { dir })
  const site = { owner: 'alice', name: 'site' }

  /** Examines the repository as if it had not changed for a while. */
  async function examineLater(t: TestContext) {
    t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 10_000 })
    const { changeToken } = await source.examine(site, t.signal)
    t.mock.timers.reset()
    return changeToken
  }

  const changes: Record<string, () => Promise<unknown>> = {
    'a push': () => host.push('alice/site', { 'a.txt': 'b' }),
    'a push to a new branch': () => host.push('alice/site', { 'a.txt': 'c' }, { branch: 'b/c/d' }),
    'a branch that moves back': () => git('update-ref', 'refs/heads/b/c/d', 'main'),
    'a branch that is overwritten in place': async () => {
      const path = join(dir, 'refs/heads/b/c/d')
      await writeFile(path, await readFile(path))
    },
    'a tag': () => git('tag', 'v1', 'main'),
    'another default branch': () => git('symbolic-ref', 'HEAD', 'refs/heads/b/c/d'),
    'an edit of the config': () => git('config', 'godwit.archived', 'true'),
    'a description of the same length': () => writeFile(join(dir, 'description'), 'a SITE'),
    'becoming public': () => writeFile(join(dir, 'git-daemon-export-ok'), ''),
    'becoming private': () => rm(join(dir, 'git-daemon-export-ok')),
    'packing refs': () => git('pack-refs', '--all'),
    'a packed ref that goes': () => git('tag', '--delete', 'v1'),
    'an object without a ref': () =>
      host.git(['hash-object', '-w', '--stdin'], { dir, input: 'x' }),
    'a repack': () => git('repack', '--quiet', '-a', '-d'),
    'a gc': () => git('gc', '--quiet', '--prune=now'),
    'a wiki that comes': () => host.repository('alice/site.wiki'),
    'a wiki that goes': () => rm(host.path('alice/site.wiki'), { recursive: true }),
    'times set back after an edit': async () => {
      const long = new Date('2001-01-01')
      await appendFile(join(dir, 'description'), '!')
      await utimes(join(dir, 'description'), long, long)
    },
    'borrowing objects': () => writeFile(join(dir, 'objects/info/alternates'), '/elsewhere\n'),
  }

  for (const [what, change] of Object.entries(changes)) {
    test(`changes with ${what}, and stays the same otherwise`, async (t) => {
      const examined = await examineLater(t)
      assert.ok(examined)
      assert.equal(await source.isUnchanged(site, examined), true)
      const before = await changeToken()
      assert.ok(before)
      assert.equal(await changeToken(), before)
      assert.equal(await changeToken(before), before)
      await change()
      assert.equal(await source.isUnchanged(site, examined), false)
      const changed = await changeToken(before)
      assert.notEqual(changed, before)
      assert.equal(await changeToken(), changed)
      assert.equal(await changeToken(changed), changed)
    })
  }

  test('is unknown for an export with objects or settings of other places', async (t) => {
    assert.equal(await examineLater(t), undefined)
    await rm(join(dir, 'objects/info/alternates'))
    assert.ok(await examineLater(t))
    await writeFile(join(host.root, 'shared'), '')
    await git('config', 'include.path', '../../shared')
    assert.equal(await examineLater(t), undefined)
    await git('config', '--unset', 'include.path')
  })

  test('is unknown for an export of a repository that has just changed', async (t) => {
    await writeFile(join(dir, 'description'), 'Now')
    assert.equal((await source.examine(site, t.signal)).changeToken, undefined)
  })

  test('stays the same for an export when a snapshot links to a pack', async (t) => {
    const [pack] = await readdir(join(dir, 'objects/pack'))
    const examined = await examineLater(t)
    await link(join(dir, 'objects/pack', pack!), join(host.root, 'linked'))
    assert.equal(await source.isUnchanged(site, examined!), true)
  })

  test('stays the same when metadata is read', async () => {
    const found = await source.find('alice', 'site')
    assert.ok(found)
    // The list after the digest depends on the time.
    const digest = async () => (await changeToken())?.split(/[:~]/, 1)[0]
    const before = await digest()
    await source.metadata(found)
    assert.equal(await digest(), before)
  })

  const exportChanges: Record<string, () => Promise<unknown>> = {
    attributes: async () => {
      await mkdir(join(dir, 'info'), { recursive: true })
      await writeFile(join(dir, 'info/attributes'), '* text')
    },
    'a change of the attributes': () => writeFile(join(dir, 'info/attributes'), '* bin'),
    'an LFS object': async () => {
      const oid = 'ab'.repeat(32)
      await mkdir(join(dir, 'lfs/objects/ab/ab'), { recursive: true })
      await writeFile(join(dir, 'lfs/objects/ab/ab', oid), 'object')
    },
    'a pack that lost its end': async () => {
      const names = await readdir(join(dir, 'objects/pack'))
      const pack = join(dir, 'objects/pack', names.find((name) => name.endsWith('.pack'))!)
      // Git makes packs read-only.
      await chmod(pack, 0o644)
      await truncate(pack, 9)
    },
  }

  for (const [what, change] of Object.entries(exportChanges)) {
    test(`changes for an export with ${what}`, async (t) => {
      const examined = await examineLater(t)
      await change()
      assert.equal(await source.isUnchanged(site, examined!), false)
    })
  }

  test('changes for an export with another clone URL', async (t) => {
    const examined = await examineLater(t)
    const cloneUrl = 'https://host.example/{owner}/{name}.git'
    const other = gitDirectory({ root: host.root, git: host.godwitGit, cloneUrl })
    assert.equal(await other.isUnchanged(site, examined!), false)
  })

  test('changes with every one of several fast edits', async () => {
    const changeTokens = new Set<string | undefined>()
    for (let edit = 0; edit < 20; edit++) {
      await writeFile(join(dir, 'description'), `edit ${edit % 10}`)
      changeTokens.add(await changeToken())
    }
    assert.equal(changeTokens.size, 20)
  })

  test('only of an export contains the directories of loose objects', async (t) => {
    const hex = (n: number) => n.toString(16).padStart(2, '0')
    const folders = Array.from({ length: 256 }, (_, n) => join(dir, 'objects', hex(n)))
    for (const folder of folders) await mkdir(folder, { recursive: true })
    const before = await changeToken()
    const examined = await examineLater(t)
    assert.match(examined!, /~00~01~02.*~fe~ff/)
    assert.equal(await source.isUnchanged(site, examined!), true)
    await writeFile(join(folders[127]!, 'f'.repeat(38)), '')
    assert.equal(await changeToken(before), before)
    assert.equal(await source.isUnchanged(site, examined!), false)
    for (const folder of folders) await rm(folder, { recursive: true })
  })
})
