import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { basename, dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createGit } from '../../packages/git/src/git.ts'
import { Unreadable } from '../../packages/git/src/unreadable.ts'
import { gitDirectory } from '../../packages/hosts/src/directory/git-directory.ts'
import { gitHost } from '../support/git-host.ts'
import { commit, initBare, git as plainGit } from '../support/sample-repositories.ts'

const host = await gitHost()
after(() => host.remove())
const beside = join(host.root, '..')
const git = createGit({
  program: 'git',
  searchPath: process.env.PATH ?? '',
  home: join(beside, 'godwit-home'),
  // A git that waits for a pipe or reads a device fails soon.
  idleTimeoutMs: 20_000,
  maxMemory: 256 * 1024 * 1024,
})
const source = gitDirectory({ root: host.root, git })

let count = 0

const PIPE = join(beside, 'pipe')
before(() => void execFileSync('mkfifo', [PIPE]))

/** The special files to create at a path. */
const KINDS = {
  pipe: (path: string) => linkSync(PIPE, path),
  device: (path: string) => symlinkSync('/dev/zero', path),
  socket: listenAt,
  'link to a pipe': (path: string) => symlinkSync(PIPE, path),
}

/** Runs in its directory, since the absolute path may be too long for a socket. */
function listenAt(path: string): void {
  const here = process.cwd()
  process.chdir(dirname(path))
  const server = createServer().listen({ path: basename(path) })
  process.chdir(here)
  after(() => server.close())
}

/** Adds a setting at the end of the config, where it overrides earlier ones. */
function set(dir: string, section: string, setting: string): void {
  appendFileSync(join(dir, 'config'), `[${section}]\n\t${setting}\n`)
}

/** A path outside the repository that its config names. */
const named = (section: string, key: string) => (dir: string) => {
  const file = join(beside, `named-${++count}`)
  set(dir, section, `${key} = ${file}`)
  return file
}

/** A path in an object store that the repository borrows from. */
const inBorrowedStore = (path: string) => (dir: string) => {
  const lender = join(beside, `lender-${++count}`)
  writeFileSync(join(dir, 'objects/info/alternates'), `${lender}\n`)
  return join(lender, path)
}

const worktreeConfig = (dir: string) => {
  set(dir, 'extensions', 'worktreeConfig = true')
  return join(dir, 'config.worktree')
}

const attributesOfNonBare = (dir: string) => {
  set(dir, 'core', 'bare = false')
  return join(dir, 'some/.gitattributes')
}

const LOOSE = `ab/${'c'.repeat(38)}`
const PACK = `objects/pack/pack-${'1'.repeat(40)}`

const EVERY_USE = ['clone', 'export', 'preflight', 'sync', 'view', 'lock']
const OF_OBJECTS = ['clone', 'export', 'preflight', 'sync', 'view']
/** Files that git reads, and an export does not. */
const OF_GIT = ['clone', 'preflight', 'sync', 'view']

/** Where the file is created, and which operations then refuse the repository. */
const LOCATIONS: Record<string, [at: string | ((dir: string) => string), refusedBy: string[]]> = {
  HEAD: ['HEAD', EVERY_USE],
  config: ['config', EVERY_USE],
  'config.worktree': [worktreeConfig, [...OF_GIT, 'lock']],
  commondir: ['commondir', EVERY_USE],
  'packed-refs': ['packed-refs', OF_OBJECTS],
  shallow: ['shallow', OF_OBJECTS],
  'a ref': ['refs/heads/more', OF_OBJECTS],
  'a file in refs with an invalid name': ['refs/heads/more or less', OF_GIT],
  'the HEAD of a worktree': ['worktrees/one/HEAD', OF_GIT],
  'the list of reftables': ['reftable/tables.list', OF_GIT],
  alternates: ['objects/info/alternates', OF_OBJECTS],
  'a commit-graph': ['objects/info/commit-graph', OF_GIT],
  'a chain of commit-graphs': ['objects/info/commit-graphs/commit-graph-chain', OF_GIT],
  'a multi-pack-index': ['objects/pack/multi-pack-index', OF_GIT],
  'an index without a pack': [`${PACK}.idx`, OF_GIT],
  'a bitmap': [`${PACK}.bitmap`, OF_GIT],
  'a loose object': [`objects/${LOOSE}`, OF_OBJECTS],
  'a loose object of a lender': [inBorrowedStore(LOOSE), OF_OBJECTS],
  'an index of a lender': [inBorrowedStore('pack/pack-1.idx'), OF_OBJECTS],
  'alternates of a lender': [inBorrowedStore('info/alternates'), OF_OBJECTS],
  'a file that the config includes': [named('include', 'path'), EVERY_USE],
  'a file that the config includes conditionally': [
    named('includeIf "gitdir:/"', 'path'),
    EVERY_USE,
  ],
  'info/attributes': ['info/attributes', ['clone']],
  '.gitattributes of a repository that is not bare': [attributesOfNonBare, ['clone']],
  'info/grafts': ['info/grafts', ['export', 'preflight']],
  description: ['description', ['export', 'preflight']],
  '.gitattributes': ['.gitattributes', []],
  'core.attributesFile': [named('core', 'attributesFile'), []],
  'core.excludesFile': [named('core', 'excludesFile'), []],
  'mailmap.file': [named('mailmap', 'file'), []],
  'info/exclude': ['info/exclude', []],
  index: ['index', []],
  'a hook': ['hooks/pre-receive', []],
}

interface Made {
  name: string
  dir: string
  oid: string
}

function make(): Made {
  const name = `r${++count}`
  const dir = join(host.root, `alice/${name}.git`)
  initBare(dir)
  return { name, dir, oid: commit(dir, 'refs/heads/main', 'text') }
}

const owner = 'alice'
const { signal } = new AbortController()

const USES: Record<string, (made: Made) => Promise<unknown>> = {
  async clone({ name, oid }) {
    const want = `0032want ${oid}\n00000009done\n`
    for (const phase of ['advertisement', 'request'] as const) {
      const request = { phase, protocolVersion: 0, isWiki: false, signal } as const
      const running = await source.serveFetch({ owner, name }, request)
      running.stdin.on('error', () => {})
      running.stdin.end(phase === 'request' ? want : '')
      const bytes = Buffer.concat(await Array.fromAsync(running.stdout))
      await running.done
      assert.ok(bytes.includes(phase === 'request' ? 'PACK' : 'refs/heads/main'))
    }
  },
  async export({ name }) {
    const seen = await source.examine({ owner, name }, signal)
    const snapshot = await source.snapshot(seen, beside, { signal, mayBeInMemory: false })
    await snapshot.verify(undefined, signal)
    await snapshot.remove()
  },
  async preflight({ name }) {
    await source.warning(await source.examine({ owner, name }, signal), signal)
  },
  sync: ({ name }) => source.metadata({ owner, name, changeToken: '', hasWiki: false }),
  view: ({ name }) =>
    source.refs({ owner, name }, { kind: 'branches', offset: 0, limit: 9 }, signal),
  lock: ({ name }) => source.reconcileLock({ owner, name }, async () => true),
}

async function refusalsOf(made: Made): Promise<Record<string, string>> {
  const refusals: Record<string, string> = {}
  for (const [use, run] of Object.entries(USES))
    await run(made).catch((error: unknown) => {
      assert.ok(error instanceof Unreadable, `${use}: ${error}`)
      assert.doesNotMatch(error.message, /git was stopped|allocate/, use)
      assert.ok(!error.message.includes(beside), error.message)
      refusals[use] = error.message
    })
  return refusals
}

describe('git neither waits for a pipe nor reads a device', { concurrency: 4 }, () => {
  for (const [title, [at, refusedBy]] of Object.entries(LOCATIONS))
    test(title, async () => {
      for (const put of Object.values(KINDS)) {
        const made = make()
        const path = typeof at === 'string' ? join(made.dir, at) : at(made.dir)
        mkdirSync(dirname(path), { recursive: true })
        rmSync(path, { force: true })
        put(path)
        const refusals = await refusalsOf(made)
        assert.deepEqual(Object.keys(refusals), refusedBy, JSON.stringify(refusals))
      }
    })
})

describe('links that forges and administrators make keep working', () => {
  const elsewhere = () => join(beside, `elsewhere-${++count}`)
  const link = (path: string) => (dir: string) => {
    const target = elsewhere()
    renameSync(join(dir, path), target)
    symlinkSync(target, join(dir, path))
  }
  const CHANGES: Record<string, (dir: string) => void> = {
    'objects on another disk': link('objects'),
    'packs on another disk': (dir) => {
      plainGit(dir, ['repack', '-adq'])
      link('objects/pack')(dir)
    },
    'a pool of objects, named by a path that has to be quoted': (dir) => {
      const pool = `${elsewhere()} "pool"`
      renameSync(join(dir, 'objects'), pool)
      mkdirSync(join(dir, 'objects/info'), { recursive: true })
      writeFileSync(join(dir, 'objects/info/alternates'), `${JSON.stringify(pool)}\n`)
    },
    'a chain of pools': (dir) => {
      const [near, far] = [elsewhere(), elsewhere()]
      renameSync(join(dir, 'objects'), far)
      for (const [borrower, lender] of [
        [join(dir, 'objects'), near],
        [near, far],
      ] as const) {
        mkdirSync(join(borrower, 'info'), { recursive: true })
        writeFileSync(join(borrower, 'info/alternates'), `# from a pool\n${lender}\n`)
      }
    },
    'settings that all repositories share': (dir) => {
      const [shared, more] = [elsewhere(), elsewhere()]
      writeFileSync(shared, `[include]\n\tpath = ${basename(more)}\n`)
      writeFileSync(more, '[uploadpack]\n\tallowFilter = true\n')
      set(dir, 'include', `path = ${shared}`)
      set(dir, 'includeIf "gitdir:/srv/"', 'path = not-there')
    },
    'a repository that was taken from a working tree': (dir) => {
      set(dir, 'core', 'bare = false')
      writeFileSync(join(dir, '.gitattributes'), '* text\n')
    },
  }
  for (const [title, change] of Object.entries(CHANGES))
    test(title, async () => {
      const made = make()
      change(made.dir)
      assert.deepEqual(await refusalsOf(made), {})
    })
})

describe('a few files that make git read very many are refused', () => {
  const CHANGES: Record<string, [change: (dir: string) => void, expected: RegExp]> = {
    'configs that include each other': [
      (dir) => {
        writeFileSync(join(dir, 'more'), '[include]\n\tpath = more\n\tpath = more\n')
        set(dir, 'include', 'path = more')
      },
      /its config includes too many files/,
    ],
    'links to directories among refs': [
      (dir) => {
        for (const name of ['a', 'b']) symlinkSync('.', join(dir, 'refs/heads', name))
      },
      /refs\/heads\/a is a (?:link to a directory|symbolic link)/,
    ],
    'very many lenders': [
      (dir) => {
        const lines = Array.from({ length: 200 }, (_, n) => `${beside}/none-${n}\n`)
        writeFileSync(join(dir, 'objects/info/alternates'), lines.join(''))
      },
      /it uses too many alternate object stores/,
    ],
    'a config that is very large': [
      (dir) => writeFileSync(join(dir, 'config'), '#\n'.repeat(9 * 1024 * 1024)),
      /config is too large/,
    ],
  }
  for (const [title, [change, expected]] of Object.entries(CHANGES))
    test(title, async () => {
      const made = make()
      change(made.dir)
      const { clone = '', sync = '', view = '' } = await refusalsOf(made)
      for (const refusal of [clone, sync, view]) assert.match(refusal, expected)
    })
})

test('a pipe that is added to a cached folder is refused', async (t) => {
  const made = make()
  // Folders that have just changed are not cached.
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 60_000 })
  assert.deepEqual(await refusalsOf(made), {})
  const pipe = join(made.dir, `objects/pack/pack-${'1'.repeat(40)}.idx`)
  KINDS.pipe(pipe)
  assert.deepEqual(Object.keys(await refusalsOf(made)), OF_GIT)
  rmSync(pipe)
  assert.deepEqual(await refusalsOf(made), {})
})

test('attributes of another repository are not exported through a link', async () => {
  const made = make()
  const another = make()
  mkdirSync(join(another.dir, 'info'), { recursive: true })
  writeFileSync(join(another.dir, 'info/attributes'), '* secret\n')
  rmSync(join(made.dir, 'info'), { recursive: true, force: true })
  symlinkSync(join(another.dir, 'info'), join(made.dir, 'info'))
  const seen = await source.examine({ owner, name: made.name }, signal)
  assert.equal(seen.repository.preserved.attributes, undefined)
  assert.match((await source.warning(seen, signal)) ?? '', /info is a symbolic link/)
  assert.match((await refusalsOf(made)).clone ?? '', /info is a symbolic link/)
})
