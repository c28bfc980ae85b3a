import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../../../../../test/support/archive-samples.ts'
import { type Dumped, restoreScript } from './restore-script.ts'

const DUMPS: Dumped[] = [
  { fullName: 'alice/site', owner: 'anna', name: 'site', isPrivate: false },
  { fullName: 'alice/broken', owner: 'anna', name: 'broken', isPrivate: false },
  { fullName: 'org/secret', owner: 'org', name: 'secret', isPrivate: true },
]

/** A fake gitea that writes its arguments to the log and fails for repositories called broken. */
const FAKE_GITEA = `#!/bin/sh
if [ "$1" = -c ]; then shift 2; fi
if [ "$1" = --version ]; then echo "Gitea version \${VERSION:-1.22.3} built with GNU Make"; exit; fi
echo "$*" >> "$LOG"
case "$*" in *broken*) echo 'no such user' >&2; exit 1 ;; esac
`

/** Writes the script and the fake gitea. Both paths contain a space, to test the quoting. */
async function setUpScript(t: TestContext, name = 'my dumps', dumps = DUMPS) {
  const folder = await temporaryFolder(t)
  const dumpFolder = join(folder, name)
  await mkdir(dumpFolder)
  await writeFile(join(dumpFolder, 'restore.sh'), restoreScript(dumps))
  const program = join(folder, 'a gitea')
  await writeFile(program, FAKE_GITEA)
  await chmod(program, 0o755)
  const log = join(folder, 'log')
  await writeFile(log, '')
  return {
    ...{ folder, dumpFolder, program },
    loggedCalls: async () => (await readFile(log, 'utf8')).trimEnd().split('\n'),
    run: (args: string[] = [], env: Record<string, string> = {}) =>
      spawnSync('sh', [join(dumpFolder, 'restore.sh'), ...args], {
        env: { PATH: process.env.PATH, LOG: log, GITEA: program, ...env },
        encoding: 'utf8',
      }),
  }
}

/** Writes a curl that logs its arguments, because this machine may have none. Returns its directory. */
async function addFakeCurl(folder: string): Promise<string> {
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'curl'), '#!/bin/sh\ncat > /dev/null\necho "curl $*" >> "$LOG"\n')
  await chmod(join(bin, 'curl'), 0o755)
  return bin
}

test('the script continues after a failure and lists what was restored', async (t) => {
  const { run, loggedCalls, dumpFolder } = await setUpScript(t)
  const { status, stdout, stderr } = run([], { PUBLIC: 'yes' })
  assert.equal(status, 1)
  assert.deepEqual(await loggedCalls(), [
    `restore-repo --repo_dir ${dumpFolder}/alice/site --owner_name anna --repo_name site`,
    `restore-repo --repo_dir ${dumpFolder}/alice/broken --owner_name anna --repo_name broken`,
    `restore-repo --repo_dir ${dumpFolder}/org/secret --owner_name org --repo_name secret`,
  ])
  assert.match(stdout, /\n2 of 3 repositories restored\n {2}anna\/site\n {2}org\/secret\n$/)
  assert.match(stderr, /were private and are PUBLIC now.*:\n {2}org\/secret\n/)
  assert.match(stderr, /failed: .*\n {2}anna\/broken\n$/)
})

test('private repositories are not restored without a token or PUBLIC=yes', async (t) => {
  const { run, loggedCalls } = await setUpScript(t)
  const { status, stderr } = run(['org/secret', 'alice/site'])
  assert.equal(status, 1)
  assert.equal((await loggedCalls()).length, 1)
  assert.match(stderr, /not restored: these are private.*PUBLIC=yes:\n {2}org\/secret\n$/)
})

test('the command of the first day also restores private repositories', async (t) => {
  const guide = await readFile(new URL('../../../../../docs/FIRST-DAY.md', import.meta.url), 'utf8')
  const [line = ''] = /^\$ GITEA=.* sh dumps\/restore\.sh$/m.exec(guide) ?? []
  const { run, folder, loggedCalls } = await setUpScript(t)
  const bin = await addFakeCurl(folder)
  await writeFile(join(folder, 'token'), 'secret')
  const values = { GITEA_URL: 'http://127.0.0.1:9', GITEA_TOKEN_FILE: join(folder, 'token') }
  const given = Object.entries(values).filter(([name]) => line.includes(`${name}=`))
  const env = { ...Object.fromEntries(given), PATH: `${bin}:/usr/bin:/bin` }
  const { status, stderr } = run(['org/secret', 'alice/site'], env)
  assert.deepEqual([status, stderr], [0, ''])
  assert.match((await loggedCalls()).at(-1)!, /^curl .*"private":true.* \S+\/repos\/org\/secret$/)
})

test('the script accepts a program with options, selected repositories and another owner', async (t) => {
  const { run, loggedCalls, dumpFolder, folder } = await setUpScript(t)
  await writeFile(join(folder, 'forgejo'), FAKE_GITEA)
  await chmod(join(folder, 'forgejo'), 0o755)
  const { status, stdout, stderr } = run(['alice/site'], {
    GITEA: `${folder}/forgejo -c ${folder}/app.ini`,
    OWNER: 'carol',
  })
  assert.equal(status, 0, stderr)
  assert.match(stdout, /1 of 1 repositories restored\n {2}carol\/site\n$/)
  assert.deepEqual(await loggedCalls(), [
    `restore-repo --repo_dir ${dumpFolder}/alice/site --owner_name carol --repo_name site`,
  ])
})

test('without GITEA, forgejo is found in the PATH', async (t) => {
  const { run, loggedCalls, folder } = await setUpScript(t)
  const bin = join(folder, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'forgejo'), FAKE_GITEA)
  await chmod(join(bin, 'forgejo'), 0o755)
  const env = { GITEA: '', PATH: `${bin}:/usr/bin:/bin` }
  const { status, stderr } = run(['alice/site'], env)
  assert.equal(status, 0, stderr)
  assert.equal((await loggedCalls()).length, 1)
})

test('an unknown repository is reported, and the others are restored', async (t) => {
  const { run } = await setUpScript(t)
  const { status, stderr, stdout } = run(['alice/site', 'alice/nothing'])
  assert.equal(status, 1)
  assert.match(stderr, /not all of these are in this directory: alice\/site alice\/nothing/)
  assert.match(stdout, /1 of 1 repositories restored/)
})

test('nothing is restored if a requirement is not met', async (t) => {
  const { run, loggedCalls } = await setUpScript(t)
  const tooOld = run([], { VERSION: '1.18.3' })
  assert.deepEqual([tooOld.status, tooOld.stdout], [2, ''])
  assert.match(tooOld.stderr, /loses the comments of issues/)
  assert.equal(run([], { VERSION: '1.18.4', PUBLIC: 'yes' }).status, 1)
  const missing = run([], { GITEA: 'no-such-program' })
  assert.match(missing.stderr, /cannot run no-such-program: set GITEA/)
  assert.equal(missing.status, 2)
  assert.match(run([], { GITEA_TOKEN_FILE: '/no/such' }).stderr, /cannot read \/no\/such/)
  // Only the run with version 1.18.4 reached restore-repo.
  assert.equal((await loggedCalls()).length, 3)
  const percent = await setUpScript(t, 'dumps 100%')
  const rejected = percent.run()
  assert.equal(rejected.status, 2)
  assert.match(rejected.stderr, /has %, \? or # in it: move the directory/)
})

test('--finish runs godwit for what was restored, with the token in its file', async (t) => {
  const { run, folder, loggedCalls, dumpFolder } = await setUpScript(t)
  assert.match(run(['--finish']).stderr, /--finish needs GITEA_URL and GITEA_TOKEN_FILE/)
  const [godwit, token] = [join(folder, 'a godwit'), join(folder, 'token')]
  await writeFile(godwit, '#!/bin/sh\necho "godwit $*" >> "$LOG"\nexit "$CODE"\n')
  await chmod(godwit, 0o755)
  await writeFile(token, 'secret')
  const PATH = `${await addFakeCurl(folder)}:${process.env.PATH}`
  const env = { PATH, GITEA_URL: 'http://127.0.0.1:9/', GITEA_TOKEN_FILE: token, CODE: '0' }
  assert.match(run(['--finish'], { ...env, GODWIT: '/nowhere' }).stderr, /cannot run \/nowhere/)
  assert.deepEqual(await loggedCalls(), [''])
  const done = run(['--finish', 'alice/site'], { ...env, GODWIT: godwit, OWNER: 'team' })
  assert.equal(done.status, 0, done.stderr)
  const finish = `godwit finish ${dumpFolder} --forge http://127.0.0.1:9/ --token-file ${token}`
  assert.equal((await loggedCalls()).at(-1), `${finish} --owner team --include alice/site`)
  assert.equal(run(['--finish', 'alice/site'], { ...env, GODWIT: godwit, CODE: '4' }).status, 1)
  const all = run(['--finish'], { ...env, GODWIT: godwit })
  assert.equal(all.status, 1)
  assert.match((await loggedCalls()).at(-1)!, /token --include alice\/site --include org\/secret$/)
})
