import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { factsScene } from '../../../test/support/facts-scene.ts'
import { Unreadable } from '../unreadable.ts'
import { gitDirectory } from './git-directory.ts'

const SECRET = 'words that are nobody else’s to read'
const { host, fresh, factsOf } = await factsScene()
after(() => host.remove())

/** Attacks by an owner who wants to read files of others, and the expected errors. */
type Trick = [(dir: string, another: string) => Promise<unknown>, says: RegExp]

const linkTo = (path: string, target: (another: string) => string) => {
  return async (dir: string, another: string) => {
    await rm(join(dir, path), { recursive: true, force: true })
    await mkdir(dirname(join(dir, path)), { recursive: true })
    await symlink(target(another), join(dir, path))
  }
}
const pipeAt = (path: string) => async (dir: string) => {
  await rm(join(dir, path), { recursive: true, force: true })
  await mkdir(dirname(join(dir, path)), { recursive: true })
  execFileSync('mkfifo', [join(dir, path)])
}
const anothers = (path: string) => linkTo(path, (another) => join(another, path))
const aText = (path: string) => linkTo(path, (another) => join(another, 'secret.txt'))
const LFS = `lfs/objects/aa/bb/aabb${'0'.repeat(60)}`

const EXAMINED: Record<string, Trick> = {
  'a description that is a link': [aText('description'), /description is not a file of its own/],
  'packed-refs that are a link': [aText('packed-refs'), /packed-refs is not a file of its own/],
  'alternates that are a link': [aText('objects/info/alternates'), /alternates is not a file/],
  'a config that is a link': [anothers('config'), /config is not a file of its own/],
  'refs that are a link': [anothers('refs'), /refs is not a directory of its own/],
  'a ref that is a link': [aText('refs/heads/other'), /symbolic link to a path outside refs/],
  'a folder of refs that is a link': [anothers('refs/heads'), /symbolic link|missing|bad object/],
  'a HEAD that is a link': [aText('HEAD'), /symbolic link to a path outside refs/],
  'LFS that is a link': [anothers('lfs'), /lfs is a symbolic link/],
  'LFS objects that are a link': [anothers('lfs/objects'), /lfs\/objects is a symbolic link/],
  'a folder of LFS that is a link': [anothers('lfs/objects/aa'), /lfs\/objects\/aa is a symbolic/],
  'an LFS object that is a link': [anothers(LFS), /is a symbolic link/],
  'a way into another': [
    (dir, another) => writeFile(join(dir, 'commondir'), another),
    /worktree of another repository/,
  ],
  'a description that is a pipe': [pipeAt('description'), /description is not a file of its own/],
  'packed-refs that are a pipe': [pipeAt('packed-refs'), /packed-refs is not a file/],
  'a ref that is a pipe': [pipeAt('refs/heads/pipe'), /refs\/heads\/pipe is not a file/],
  'an LFS object that is a pipe': [pipeAt(LFS), /is not a file/],
  'a loose object that is a pipe': [pipeAt(`objects/ab/${'0'.repeat(38)}`), /is not a file/],
}

/** Attacks on git, with the expected errors. */
const ASKED_OF_GIT: Record<string, Trick> = {
  'a config that is a link': [anothers('config'), /config is not a file of its own/],
  'a way into another': EXAMINED['a way into another']!,
  'packed-refs that are a pipe': [pipeAt('packed-refs'), /packed-refs is neither a file nor/],
  'packed-refs that lead to a pipe': [
    async (dir) => {
      await pipeAt('elsewhere')(dir)
      await linkTo('packed-refs', () => join(dir, 'elsewhere'))(dir, '')
    },
    /packed-refs is neither a file nor/,
  ],
  'a ref that is a pipe': [pipeAt('refs/heads/pipe'), /refs\/heads\/pipe is neither/],
  'an object that is a pipe': [pipeAt(`objects/ab/${'0'.repeat(38)}`), /is neither a file nor/],
  'a config that includes a pipe': [
    async (dir) => {
      await pipeAt('more')(dir)
      await appendFile(join(dir, 'config'), '[include]\n\tpath = more\n')
    },
    /its config includes what is not a file/,
  ],
}

async function scene() {
  const fullName = fresh()
  const dir = await host.repository(fullName, { files: { 'a.py': 'a' } })
  const another = await host.repository(fresh(), { files: { 'b.c': 'b' } })
  await writeFile(join(another, 'secret.txt'), `${SECRET}\n`)
  await mkdir(dirname(join(another, LFS)), { recursive: true })
  await writeFile(join(another, LFS), SECRET)
  await appendFile(join(another, 'config'), `[gitweb]\n\tdescription = ${SECRET}\n`)
  return { dir, another, fullName }
}

function toldByName(says: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof Unreadable, String(error))
    assert.match(error.message, says)
    assert.ok(!error.message.includes(SECRET) && !error.message.includes(host.root), error.message)
    return true
  }
}

describe('an export reads only files of the repository', { concurrency: 4 }, () => {
  for (const [name, [play, says]] of Object.entries(EXAMINED))
    test(name, async () => {
      const { dir, another, fullName } = await scene()
      await play(dir, another)
      const source = gitDirectory({ root: host.root, git: host.godwitGit })
      const [owner = '', repository = ''] = fullName.split('/')
      const found = { owner, name: repository, stamp: '', hasWiki: false }
      const { signal } = new AbortController()
      await assert.rejects(
        source.examine(found, signal).then((seen) => source.snapshot(seen, host.root, signal)),
        toldByName(says),
      )
    })
})

describe('git reads only files of the repository for facts', { concurrency: 4 }, () => {
  for (const [name, [play, says]] of Object.entries(ASKED_OF_GIT))
    test(name, async () => {
      const { dir, another } = await scene()
      await play(dir, another)
      await assert.rejects(factsOf(dir), toldByName(says))
    })
})

test('an export reads only files of the wiki', async () => {
  const { dir, another } = await scene()
  const wiki = dir.replace(/\.git$/, '.wiki.git')
  await rename(another, wiki)
  await aText('description')(wiki, wiki)
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const [owner = '', name = ''] = dir.slice(host.root.length + 1, -'.git'.length).split('/')
  const found = { owner, name, stamp: '', hasWiki: true }
  await assert.rejects(
    source.examine(found, new AbortController().signal),
    toldByName(/\.wiki: description is not a file of its own/),
  )
})

test('a few trees that stand for billions of files do not block', async () => {
  const dir = await host.repository(fresh())
  let below = await host.git(['hash-object', '-w', '--stdin'], { dir, input: 'x' })
  let kind = '100644 blob'
  for (let depth = 0; depth < 10; depth++) {
    const input = Array.from({ length: 10 }, (_, n) => `${kind} ${below}\tf${n}.py\n`).join('')
    below = await host.git(['mktree'], { dir, input })
    kind = '040000 tree'
  }
  const commit = await host.git(['commit-tree', below], { dir, input: 'bomb' })
  await host.git(['update-ref', 'refs/heads/main', commit], { dir })
  await host.git(['repack', '-adq'], { dir })
  assert.equal((await factsOf(dir)).language, 'Python')
})
