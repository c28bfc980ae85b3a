import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { appendFile, mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { Unreadable } from '../../packages/git/src/unreadable.ts'
import { gitDirectory } from '../../packages/hosts/src/directory/git-directory.ts'
import { metadataScene } from '../support/metadata-scene.ts'

const SECRET = 'a secret of another owner'
const { host, nextName, metadataOf } = await metadataScene()
after(() => host.remove())

/** Attacks by an owner who wants to read files of others, and the expected errors. */
type Attack = [(dir: string, another: string) => Promise<unknown>, expected: RegExp]

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
const linkToAnother = (path: string) => linkTo(path, (another) => join(another, path))
const linkToSecret = (path: string) => linkTo(path, (another) => join(another, 'secret.txt'))
const LFS = `lfs/objects/aa/bb/aabb${'0'.repeat(60)}`

const EXAMINED: Record<string, Attack> = {
  'a description that is a link': [
    linkToSecret('description'),
    /description is not a regular file/,
  ],
  'packed-refs that are a link': [linkToSecret('packed-refs'), /packed-refs is not a regular file/],
  'alternates that are a link': [
    linkToSecret('objects/info/alternates'),
    /alternates is not a regular file/,
  ],
  'a config that is a link': [linkToAnother('config'), /config is not a regular file/],
  'refs that are a link': [linkToAnother('refs'), /refs is not a directory, or is a link to one/],
  'a ref that is a link': [
    linkToSecret('refs/heads/other'),
    /symbolic link to a path outside refs/,
  ],
  'a folder of refs that is a link': [
    linkToAnother('refs/heads'),
    /symbolic link|missing|bad object/,
  ],
  'a HEAD that is a link': [linkToSecret('HEAD'), /symbolic link to a path outside refs/],
  'LFS that is a link': [linkToAnother('lfs'), /lfs is a symbolic link/],
  'LFS objects that are a link': [linkToAnother('lfs/objects'), /lfs\/objects is a symbolic link/],
  'a folder of LFS that is a link': [
    linkToAnother('lfs/objects/aa'),
    /lfs\/objects\/aa is a symbolic/,
  ],
  'an LFS object that is a link': [linkToAnother(LFS), /is a symbolic link/],
  'a commondir of another repository': [
    (dir, another) => writeFile(join(dir, 'commondir'), another),
    /worktree of another repository/,
  ],
  'a description that is a pipe': [pipeAt('description'), /description is not a regular file/],
  'packed-refs that are a pipe': [pipeAt('packed-refs'), /packed-refs is not a regular file/],
  'a ref that is a pipe': [pipeAt('refs/heads/pipe'), /refs\/heads\/pipe is not a regular file/],
  'an LFS object that is a pipe': [pipeAt(LFS), /is not a regular file/],
  'a loose object that is a pipe': [
    pipeAt(`objects/ab/${'0'.repeat(38)}`),
    /is not a regular file/,
  ],
}

/** Attacks on git, with the expected errors. */
const READ_BY_GIT: Record<string, Attack> = {
  'a config that is a link': [linkToAnother('config'), /config is not a regular file/],
  'a commondir of another repository': EXAMINED['a commondir of another repository']!,
  'packed-refs that are a pipe': [pipeAt('packed-refs'), /packed-refs is neither a file nor/],
  'packed-refs that are a link to a pipe': [
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
    /its config includes something that is not a file/,
  ],
}

async function scene() {
  const fullName = nextName()
  const dir = await host.repository(fullName, { files: { 'a.py': 'a' } })
  const another = await host.repository(nextName(), { files: { 'b.c': 'b' } })
  await writeFile(join(another, 'secret.txt'), `${SECRET}\n`)
  await mkdir(dirname(join(another, LFS)), { recursive: true })
  await writeFile(join(another, LFS), SECRET)
  await appendFile(join(another, 'config'), `[gitweb]\n\tdescription = ${SECRET}\n`)
  return { dir, another, fullName }
}

function unreadableWithoutSecrets(expected: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof Unreadable, String(error))
    assert.match(error.message, expected)
    assert.ok(!error.message.includes(SECRET) && !error.message.includes(host.root), error.message)
    return true
  }
}

describe('an export reads only files of the repository', { concurrency: 4 }, () => {
  for (const [name, [attack, expected]] of Object.entries(EXAMINED))
    test(name, async () => {
      const { dir, another, fullName } = await scene()
      await attack(dir, another)
      const source = gitDirectory({ root: host.root, git: host.godwitGit })
      const [owner = '', repository = ''] = fullName.split('/')
      const found = { owner, name: repository, changeToken: '', hasWiki: false }
      const { signal } = new AbortController()
      await assert.rejects(
        source
          .examine(found, signal)
          .then((seen) => source.snapshot(seen, host.root, { signal, mayBeInMemory: true })),
        unreadableWithoutSecrets(expected),
      )
    })
})

describe('git reads only files of the repository for metadata', { concurrency: 4 }, () => {
  for (const [name, [attack, expected]] of Object.entries(READ_BY_GIT))
    test(name, async () => {
      const { dir, another } = await scene()
      await attack(dir, another)
      await assert.rejects(metadataOf(dir), unreadableWithoutSecrets(expected))
    })
})

test('an export reads only files of the wiki', async () => {
  const { dir, another } = await scene()
  const wiki = dir.replace(/\.git$/, '.wiki.git')
  await rename(another, wiki)
  await linkToSecret('description')(wiki, wiki)
  const source = gitDirectory({ root: host.root, git: host.godwitGit })
  const [owner = '', name = ''] = dir.slice(host.root.length + 1, -'.git'.length).split('/')
  const found = { owner, name, changeToken: '', hasWiki: true }
  await assert.rejects(
    source.examine(found, new AbortController().signal),
    unreadableWithoutSecrets(/\.wiki: description is not a regular file/),
  )
})

test('a few trees that represent billions of files do not block', async () => {
  const dir = await host.repository(nextName())
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
  assert.equal((await metadataOf(dir)).language, 'Python')
})
