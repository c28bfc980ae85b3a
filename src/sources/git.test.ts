import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { createGit, GitFailed } from './git.ts'

const home = await mkdtemp(join(tmpdir(), 'godwit-git-'))
after(() => rm(home, { recursive: true }))

const searchPath = process.env.PATH ?? ''
const git = createGit({ program: 'git', searchPath, home })

test('a refusal carries what git said', async () => {
  await assert.rejects(git.run(['no-such-command']), (error) => {
    assert.ok(error instanceof GitFailed)
    assert.equal(error.exitCode, 1)
    assert.match(error.said, /'no-such-command' is not a git command/)
    return true
  })
})

test('more output than was asked for is a failure that says so', async () => {
  assert.match(await git.text(['version'], { maxBytes: 1000 }), /^git version/)
  await assert.rejects(git.run(['version'], { maxBytes: 5 }), (error) => {
    assert.ok(error instanceof GitFailed)
    assert.equal(error.said, 'its output is longer than 5 bytes')
    return true
  })
})

test('a failure that is looked at late has not brought the process down', async () => {
  const running = git.start(['no-such-command'])
  running.stdin.end()
  await Array.fromAsync(running.stdout)
  await new Promise((resolve) => setTimeout(resolve, 50))
  await assert.rejects(running.done, GitFailed)
})

test('without file handles left it rejects, and the process lives on', () => {
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
  const said = execFileSync('sh', ['-c', command, process.execPath, script, home])
  assert.equal(said.toString(), 'git version could not be started: too many open files')
})
