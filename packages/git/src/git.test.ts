import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { inspect } from 'node:util'
import { commit, initBare, temporaryDirectory } from '../../../test/support/sample-repositories.ts'
import { until } from '../../../test/support/wait-until.ts'
import { createGit, PROGRESS } from './git.ts'
import { GitFailed } from './git-process.ts'

const home = await mkdtemp(join(tmpdir(), 'godwit-git-'))
after(() => rm(home, { recursive: true }))

const searchPath = process.env.PATH ?? ''
const git = createGit({ program: 'git', searchPath, home })

test('a failure has the error output of git', async () => {
  await assert.rejects(git.run(['no-such-command']), (error) => {
    assert.ok(error instanceof GitFailed)
    assert.equal(error.exitCode, 1)
    assert.match(error.stderr, /'no-such-command' is not a git command/)
    return true
  })
})

test('a failure has no hint about our own settings', async (t) => {
  const dir = join(temporaryDirectory(t), 'hint.git')
  initBare(dir)
  const oid = commit(dir, 'refs/heads/main', 'text')
  await assert.rejects(git.run(['rev-list', oid, 'f'.repeat(40)], { dir }), (error) => {
    assert.ok(error instanceof GitFailed)
    assert.match(error.stderr, /^fatal: bad object/)
    return true
  })
})

test('output longer than maxBytes is a failure with that reason', async () => {
  assert.match(await git.text(['version'], { maxBytes: 1000 }), /^git version/)
  await assert.rejects(git.run(['version'], { maxBytes: 5 }), (error) => {
    assert.ok(error instanceof GitFailed)
    assert.equal(error.stderr, 'its output is longer than 5 bytes')
    return true
  })
})

test('a failure that is awaited late is not an unhandled rejection', async () => {
  const running = git.start(['no-such-command'])
  running.stdin.end()
  await Array.fromAsync(running.stdout)
  await until('it has failed', () => inspect(running.done).includes('<rejected>'))
  // Node reports unhandled rejections before this.
  await setImmediate()
  await assert.rejects(running.done, GitFailed)
})

test('without free file handles it rejects, and the process survives', () => {
  const script = `
    import { openSync } from 'node:fs'
    import { createGit } from ${JSON.stringify(import.meta.resolve('./git.ts'))}
    const git = createGit({ program: 'git', searchPath: process.env.PATH, home: process.argv[1] })
    try { for (;;) openSync('/dev/null') } catch {}
    git.run(['version']).catch((error) => {
      process.stdout.write(error.message)
      setImmediate(() => process.exit(0))
    })`
  const command = 'ulimit -n 100 && exec "$0" --input-type=module -e "$1" "$2"'
  const output = execFileSync('sh', ['-c', command, process.execPath, script, home])
  assert.equal(output.toString(), 'git version could not be started: too many open files')
})

async function programOf(t: TestContext, script: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-git-'))
  t.after(() => rm(dir, { recursive: true }))
  const program = join(dir, 'git')
  await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return program
}

test('reports of progress are counted, and are no part of a failure', async (t) => {
  const reports = 'Objects: 5\\rObjects: 7  \\rObjects: 9, done.\\nfatal: missing blob\\n'
  const program = await programOf(t, `printf '${reports}' >&2; exit 128`)
  const counts: number[] = []
  const running = createGit({ program, searchPath, home }).run(['rev-list', PROGRESS], {
    onProgress: (objects) => counts.push(objects),
  })
  await assert.rejects(running, { exitCode: 128, stderr: 'fatal: missing blob' })
  assert.deepEqual(counts, [5, 2, 2])
})

test('a git that makes no progress is killed with its children', async (t) => {
  const program = await programOf(t, 'sleep 600 & echo $! >&2; wait')
  const hanging = createGit({ program, searchPath, home, idleTimeoutMs: 400 })
  await assert.rejects(hanging.run(['version']), (error) => {
    assert.ok(error instanceof GitFailed)
    assert.match(error.message, /^git version made no progress for 0.4 seconds$/)
    // Its new parent may not have reaped it yet; a dead process has no command line.
    const commandLine = `/proc/${Number(error.stderr)}/cmdline`
    assert.ok(!existsSync(commandLine) || readFileSync(commandLine, 'utf8') === '')
    return true
  })
})

test('a git that has exited is not killed for its children', async (t) => {
  const numbers = join(home, 'numbers')
  const program = await programOf(
    t,
    `sleep 600 & echo $$ $! > ${numbers}.new; mv ${numbers}.new ${numbers}`,
  )
  const stopping = new AbortController()
  const run = createGit({ program, searchPath, home }).run(['version'], { signal: stopping.signal })
  const refused = assert.rejects(run, /git version was stopped/)
  await until('git has written its process id', () => existsSync(numbers))
  const [pid, left] = readFileSync(numbers, 'utf8').split(' ').map(Number) as [number, number]
  await until('git has ended', () => !existsSync(`/proc/${pid}`))
  const kill = t.mock.method(process, 'kill')
  stopping.abort()
  await refused
  assert.deepEqual(kill.mock.calls, [])
  kill.mock.restore()
  process.kill(left, 'SIGKILL')
})

test('a git that makes progress is not killed, however little it prints', async (t) => {
  // The shell only waits; its child makes the progress, for four seconds, and uses little of the CPU.
  const work = 'head -c 100000 /dev/zero > /dev/null; sleep 0.2'
  const program = await programOf(t, `(for n in $(seq 20); do ${work}; done) & wait`)
  // Longer than a busy machine keeps a runnable process waiting.
  const busy = createGit({ program, searchPath, home, idleTimeoutMs: 2500 })
  assert.equal(await busy.text(['version']), '')
})

test('a git that exceeds its timeout is killed', async (t) => {
  const program = await programOf(t, 'while :; do :; done')
  const endless = createGit({ program, searchPath, home })
  await assert.rejects(endless.run(['version'], { timeoutMs: 300 }), {
    name: 'GitFailed',
    exceededLimit: 'took more than 0.3 seconds',
  })
})

test('the failure says who killed git, or that it could not be started', async (t) => {
  const killed = createGit({ program: await programOf(t, 'kill -9 $$'), searchPath, home })
  await assert.rejects(killed.run(['version']), /^GitFailed: git version was killed \(SIGKILL\)$/)
  const missing = createGit({ program: join(home, 'no-git'), searchPath, home })
  await assert.rejects(missing.run(['version']), /git version could not be run: spawn .* ENOENT/)
})

/** A repository with one commit and a pipe in place of its attributes, and the request of a client for the commit. */
function stuckRepository(t: TestContext): { dir: string; want: string } {
  const dir = join(temporaryDirectory(t), 'stuck.git')
  initBare(dir)
  const oid = commit(dir, 'refs/heads/main', 'text')
  mkdirSync(join(dir, 'info'), { recursive: true })
  execFileSync('mkfifo', [join(dir, 'info/attributes')])
  return { dir, want: `0040want ${oid} side-band-64k\n00000009done\n` }
}

test('a git that only keeps the connection open is killed', async (t) => {
  const { dir, want } = stuckRepository(t)
  const config = { 'uploadpack.keepAlive': '1' }
  const hanging = createGit({ program: 'git', searchPath, home, idleTimeoutMs: 3000 })
  const run = hanging.run(['upload-pack', '--stateless-rpc', dir], { input: want, config })
  await assert.rejects(run, /made no progress for 3 seconds/)
})

test('a git that makes no progress before its first byte is killed sooner', async (t) => {
  const call = { firstByteTimeoutMs: 300 }
  const silent = createGit({ program: await programOf(t, 'exec sleep 600'), searchPath, home })
  await assert.rejects(
    silent.run(['version'], call),
    /wrote nothing and made no progress for 0\.3 seconds/,
  )
  const release = join(temporaryDirectory(t), 'release')
  execFileSync('mkfifo', [release])
  const program = await programOf(t, `echo begun; read line < ${release}; echo $line`)
  t.mock.timers.enable({ apis: ['setInterval'] })
  const running = createGit({ program, searchPath, home }).start(['version'], call)
  const output = running.stdout.setEncoding('utf8')[Symbol.asyncIterator]()
  assert.equal((await output.next()).value, 'begun\n')
  t.mock.timers.tick(10 * call.firstByteTimeoutMs)
  await writeFile(release, 'ended\n')
  assert.equal((await output.next()).value, 'ended\n')
  await running.done
})

test('a git that exceeds its memory limit is killed', async (t) => {
  const dir = join(temporaryDirectory(t), 'greedy.git')
  initBare(dir)
  mkdirSync(join(dir, 'info'), { recursive: true })
  symlinkSync('/dev/zero', join(dir, 'info/attributes'))
  const small = createGit({ program: 'git', searchPath, home, maxMemory: 64 * 1024 * 1024 })
  await assert.rejects(small.run(['check-attr', 'delta', 'x'], { dir }), {
    name: 'GitFailed',
    exceededLimit: 'took more than 64 MiB of memory',
  })
  // Git refuses allocations beyond its own limit.
  symlinkSync('/dev/zero', join(dir, 'refs/heads/main'))
  await assert.rejects(
    small.run(['for-each-ref'], { dir }),
    /attempting to allocate \d+ over limit 67108864/,
  )
})

test('no setting of a repository makes git read a file outside it', async (t) => {
  const dir = join(temporaryDirectory(t), 'settings.git')
  initBare(dir)
  const oid = commit(dir, 'refs/heads/main', 'text')
  const pipe = join(dir, 'pipe')
  execFileSync('mkfifo', [pipe])
  for (const key of ['core.attributesFile', 'core.excludesFile', 'mailmap.file'])
    execFileSync('git', ['-C', dir, 'config', key, pipe])
  execFileSync('git', ['-C', dir, 'config', '--unset', 'core.bare'])
  execFileSync('mkfifo', [join(dir, '.gitattributes')])
  const input = `0032want ${oid}\n00000009done\n`
  const pack = await git.run(['upload-pack', '--stateless-rpc', dir], { input, timeoutMs: 10_000 })
  assert.ok(pack.includes('PACK'))
})
