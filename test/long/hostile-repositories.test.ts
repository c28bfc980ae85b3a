import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { escapeForTerminal } from '../../packages/lib/src/terminal-text.ts'
import { commandLine } from '../support/command-line.ts'
import { sharedExportStory } from '../support/export-story.ts'
import { looseObjectPath } from '../support/loose-objects.ts'
import { type PlantedPrograms, plantPrograms } from '../support/planted-programs.ts'
import {
  commit,
  git,
  initBare,
  makeWiki,
  temporaryDirectory,
} from '../support/sample-repositories.ts'

interface Scene {
  traps: PlantedPrograms
  /** The directory of another owner's private repository. */
  otherDirectory: string
}

interface HostileKind {
  make(dir: string, scene: Scene): void
  /** The reason for which it is skipped. Without it, it is exported. */
  refusal?: RegExp
}

function plain(dir: string): string {
  initBare(dir)
  return commit(dir, 'refs/heads/main', 'plain')
}

const packedRef = (name: string) => (dir: string) => {
  const oid = plain(dir)
  writeFileSync(join(dir, 'packed-refs'), `${oid} ${name}\n`, 'latin1')
}

/** Writes a tree that git itself would not write. */
function treeOf(dir: string, entries: [mode: string, name: string, oid: string][]): string {
  const bytes = entries.flatMap(([mode, name, oid]) => [
    Buffer.from(`${mode} ${name}\0`),
    Buffer.from(oid, 'hex'),
  ])
  return git(
    dir,
    ['hash-object', '-t', 'tree', '-w', '--stdin', '--literally'],
    Buffer.concat(bytes),
  )
}

/** Repositories of a malicious owner, by name. */
const HOSTILE_REPOSITORIES: Readonly<Record<string, HostileKind>> = {
  trapped: {
    make(dir, { traps }) {
      plain(dir)
      traps.plantIn(dir)
      makeWiki(dir.replace(/\.git$/, '.wiki.git'))
      traps.plantIn(dir.replace(/\.git$/, '.wiki.git'))
    },
  },
  'trapped-by-include': {
    make(dir, { traps }) {
      plain(dir)
      const more = `${dir}.more`
      initBare(more)
      traps.plantIn(more)
      appendFileSync(join(dir, 'config'), `[include]\n\tpath = ${more}/config\n`)
    },
  },
  'trapped-promisor': {
    make(dir, { traps }) {
      plain(dir)
      traps.plantIn(dir)
      rmSync(looseObjectPath(dir, git(dir, ['rev-parse', 'main:file.txt'])))
      appendFileSync(
        join(dir, 'config'),
        '[core]\n\trepositoryformatversion = 1\n[extensions]\n\tpartialClone = origin\n[remote "origin"]\n\tpromisor = true\n',
      )
    },
    refusal: /a partial clone, which has only some of the objects/,
  },
  'trapped-borrower': {
    make(dir, { traps, otherDirectory }) {
      plain(dir)
      traps.plantIn(dir)
      writeFileSync(join(dir, 'objects/info/alternates'), `${otherDirectory}/objects\n`)
    },
  },
  'linked-objects': {
    make(dir, { otherDirectory }) {
      initBare(dir)
      rmSync(join(dir, 'objects'), { recursive: true })
      symlinkSync(join(otherDirectory, 'objects'), join(dir, 'objects'))
    },
  },
  'linked-description': {
    make(dir, { otherDirectory }) {
      plain(dir)
      rmSync(join(dir, 'description'))
      symlinkSync(join(otherDirectory, 'description'), join(dir, 'description'))
    },
    refusal: /description is not a regular file/,
  },
  'head-out': {
    make(dir) {
      plain(dir)
      writeFileSync(join(dir, 'HEAD'), 'ref: ../../../../etc/passwd\n')
    },
    refusal: /HEAD (names|points to)/,
  },
  'control-characters': { make: packedRef('refs/heads/a\x01b'), refusal: /packed-refs/ },
  'a-way-up': { make: packedRef('refs/heads/../../../evil'), refusal: /packed-refs/ },
  'a-ref-outside': { make: packedRef('/etc/passwd'), refusal: /packed-refs/ },
  'refs-without-end': {
    make(dir) {
      packedRef('refs/heads/one')(dir)
      truncateSync(join(dir, 'packed-refs'), 65 * 1024 * 1024)
    },
    refusal: /packed-refs is too large/,
  },
  'endless-attributes': {
    make(dir) {
      plain(dir)
      appendFileSync(
        join(dir, 'config'),
        '[core]\n\tattributesFile = /dev/zero\n\texcludesFile = /dev/zero\n[mailmap]\n\tfile = /dev/zero\n',
      )
      rmSync(join(dir, 'info/attributes'), { force: true })
      mkdirSync(join(dir, 'info'), { recursive: true })
      symlinkSync('/dev/zero', join(dir, 'info/attributes'))
    },
  },
  'endless-config': {
    make(dir) {
      plain(dir)
      appendFileSync(join(dir, 'config'), '[include]\n\tpath = /dev/zero\n')
    },
    refusal: /its config includes something that is not a file/,
  },
  'endless-lender': {
    make(dir) {
      plain(dir)
      const lender = `${dir}.lender`
      mkdirSync(join(lender, 'info'), { recursive: true })
      symlinkSync('/dev/zero', join(lender, 'info/alternates'))
      writeFileSync(join(dir, 'objects/info/alternates'), `${lender}\n`)
    },
    refusal: /its alternate objects\/info\/alternates is neither/,
  },
  'names-of-options': { make: packedRef('refs/heads/--upload-pack=touch') },
  submodules: {
    make(dir) {
      initBare(dir)
      const blob = (text: string) => git(dir, ['hash-object', '-w', '--stdin'], text)
      const modules = blob(
        '[submodule "../../hooks"]\n\tpath = --upload-pack=touch\n\turl = -u./payload\n\tupdate = !touch\n',
      )
      const inner = treeOf(dir, [['100755', 'post-checkout', blob('#!/bin/sh\n')]])
      const tree = treeOf(dir, [
        ['100644', '..', blob('x')],
        ['40000', '.git', inner],
        ['120000', '.gitmodules', modules],
        ['100644', 'a\nb', blob('x')],
        ['160000', 'vendored', '1'.repeat(40)],
      ])
      git(dir, ['update-ref', 'refs/heads/main', git(dir, ['commit-tree', tree], 'tricks')])
    },
  },
  'hidden-in-lfs': {
    make(dir, { otherDirectory }) {
      plain(dir)
      symlinkSync(join(otherDirectory, 'lfs'), join(dir, 'lfs'))
    },
    refusal: /lfs is a symbolic link/,
  },
  worktree: {
    make(dir, { otherDirectory }) {
      plain(dir)
      writeFileSync(join(dir, 'commondir'), `${otherDirectory}\n`)
    },
    refusal: /worktree of another repository/,
  },
  'a-config-of-another-time': {
    make(dir) {
      plain(dir)
      rmSync(join(dir, 'config'))
      mkdirSync(join(dir, 'config'))
    },
    refusal: /a directory where a file should be/,
  },
}

/** Names of directories below an owner that cannot be served as repositories. */
const HOSTILE_NAMES = ['sp ace.git', 'line\nend.git', 'bell\x07.git', '..git', 'ü.git', '.git']

const SECRET = 'n0tF0rAl1ce'

interface Report {
  repositories: { full_name: string; state: string; reason: string | null }[]
}

test('hostile repositories are exported safely or skipped by name, and none of their programs run', async (t) => {
  const traps = plantPrograms(temporaryDirectory(t))
  let secret = ''
  const story = await sharedExportStory(t, {
    async repositories({ root }) {
      const otherDirectory = join(root, 'bob/diary.git')
      initBare(otherDirectory)
      commit(otherDirectory, 'refs/heads/main', SECRET)
      secret = git(otherDirectory, ['rev-parse', 'main:file.txt'])
      git(otherDirectory, ['config', 'gitweb.description', SECRET])
      await writeFile(join(otherDirectory, 'description'), SECRET)
      const lfs = join(otherDirectory, 'lfs/objects/aa/bb', `aabb${'0'.repeat(60)}`)
      await mkdir(dirname(lfs), { recursive: true })
      await writeFile(lfs, SECRET)
      for (const [name, { make }] of Object.entries(HOSTILE_REPOSITORIES))
        make(join(root, `alice/${name}.git`), { traps, otherDirectory })
      for (const name of HOSTILE_NAMES) initBare(join(root, 'alice', name))
    },
    flags: ['--log-level', 'trace'],
  })
  const { service, host } = story
  const names = Object.keys(HOSTILE_REPOSITORIES)

  // Some cannot be read, so the sync fails after it has read the others.
  const synced = await service.godwit('sync').then(
    () => assert.fail('the sync succeeds'),
    ({ code, stdout }) => {
      assert.equal(code, 1)
      return String(stdout)
    },
  )
  for (const name of HOSTILE_NAMES.filter((name) => name !== '.git'))
    assert.ok(synced.includes(escapeForTerminal(name)), `${name} is not reported:\n${synced}`)

  const body = JSON.stringify({ repositories: names })
  const forecast = await story.call('/user/migrations/preflight', { method: 'POST', body })
  assert.equal(forecast.status, 200)
  // A lock that cannot be set fails the migration, so the first one has none.
  const { id } = await story.migrate(names, { allow_partial: true })
  const report = (await (await story.call(`/user/migrations/${id}/report`)).json()) as Report
  for (const { full_name, state, reason } of report.repositories) {
    const { refusal } = HOSTILE_REPOSITORIES[full_name.split('/')[1]!]!
    assert.equal(state, refusal ? 'skipped' : 'exported', `${full_name}: ${reason}`)
    if (refusal) assert.match(reason ?? '', refusal, full_name)
    assert.ok(!reason?.includes(host.root), reason ?? '')
  }

  const archive = await story.download(id)
  const { godwit } = await commandLine(t)
  const verified = await godwit(['verify', archive])
  assert.equal(verified.code, 0, verified.output)
  const into = join(temporaryDirectory(t), 'restored')
  const restored = await godwit(['restore', archive, '--into', into])
  assert.equal(restored.code, 0, restored.output)
  assert.ok(existsSync(join(into, 'alice/trapped.git')))
  const again = join(dirname(into), 'again.tar.gz')
  const command = ['export', 'alice', '--repositories', host.root, '--allow-partial']
  const exported = await godwit([...command, '--output', again])
  assert.equal(exported.code, 0, exported.output)

  const trapped = names.filter((name) => name.startsWith('trapped'))
  const locked = await story.migrate(trapped, { lock_repositories: true, allow_partial: true })
  for (const name of trapped) {
    const lock = `/user/migrations/${locked.id}/repos/${name}/lock`
    assert.equal((await story.call(lock, { method: 'DELETE' })).status, 204)
  }
  await service.stop()

  assert.deepEqual(traps.programsRun(), [])
  for (const file of [archive, again]) assert.ok(!gunzipSync(await readFile(file)).includes(SECRET))
  for (const name of readdirSync(join(into, 'alice'))) {
    const all = ['cat-file', '--batch-all-objects', '--batch-check=%(objectname)']
    assert.ok(!git(join(into, 'alice', name), all).includes(secret), name)
  }
  assert.ok(!service.log().includes(SECRET))
  // Plain git runs the programs, so the check above is meaningful.
  assert.throws(() => git(host.path('alice/trapped-promisor'), ['cat-file', '-p', 'main:file.txt']))
  git(host.path('alice/trapped'), ['update-ref', 'refs/heads/more', 'refs/heads/main'])
  assert.ok(traps.programsRun().some((name) => name.startsWith('remote.origin')))
  assert.ok(traps.programsRun().includes('core.hooksPath reference-transaction'))
})
