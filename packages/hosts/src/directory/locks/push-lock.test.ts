import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmod, chown, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { asNobody } from '../../../../../test/support/as-nobody.ts'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import type { Git } from '../../../../git/src/git.ts'
import { Unreadable } from '../../../../git/src/unreadable.ts'
import { editConfig } from './edit-config.ts'
import { checkPushLocks, lockProblem, readLockState, reconcilePushLock } from './push-lock.ts'

describe('a lock against pushes', () => {
  let host: GitHost
  let dir: string

  beforeEach(async () => {
    host = await gitHost()
    dir = await host.repository('alice/site', { files: { 'a.txt': 'a' } })
  })
  afterEach(() => host.remove())

  const lock = () => reconcilePushLock(host.godwitGit, dir, async () => true)
  const unlock = () => reconcilePushLock(host.godwitGit, dir, async () => false)
  const isLocked = async () => (await readLockState(host.godwitGit, dir)) === 'locked'
  const config = () => readFile(join(dir, 'config'), 'utf8')
  const hidden = () => host.git(['config', '--get-all', 'receive.hideRefs'], { dir })

  async function refusesPushes(to: string): Promise<void> {
    await assert.rejects(host.push('alice/site', { 'a.txt': 'b' }, { to }), /hidden ref/)
    const branch = host.push('alice/site', { 'a.txt': 'b' }, { to, branch: 'new' })
    await assert.rejects(branch, /hidden ref/)
    const removal = host.git(['push', '--quiet', to, ':refs/heads/main'], { dir })
    await assert.rejects(removal, /hidden ref|remote ref does not exist/)
  }

  test('refuses pushes by path and allows fetches', async () => {
    await lock()
    assert.equal(await isLocked(), true)
    await refusesPushes(dir)
    assert.match(await host.git(['ls-remote', dir]), /refs\/heads\/main/)
    await host.git(['clone', '--quiet', '--bare', dir, join(host.root, '..', 'copy')])
    await unlock()
    assert.equal(await isLocked(), false)
    await host.push('alice/site', { 'a.txt': 'b' })
  })

  test('refuses pushes over smart HTTP and allows fetches', async () => {
    await using served = await serveOverHttp(host.root)
    const to = `${served.url}/alice/site.git`
    await host.push('alice/site', { 'a.txt': 'b' }, { to })
    await lock()
    await refusesPushes(to)
    await host.git(['clone', '--quiet', '--bare', to, join(host.root, '..', 'copy')])
    await unlock()
    await host.push('alice/site', { 'a.txt': 'c' }, { to })
  })

  test('restores the config byte for byte, however often it is set', async () => {
    const before = await config()
    await unlock()
    assert.equal(await config(), before)
    await lock()
    const locked = await config()
    await lock()
    assert.equal(await config(), locked)
    assert.equal(await hidden(), 'refs/')
    await unlock()
    assert.equal(await config(), before)
  })

  test('refs that the host hides stay hidden', async () => {
    for (const value of ['refs/pull', 'refs', 'refs/internal/']) {
      await host.git(['config', '--add', 'receive.hideRefs', value], { dir })
    }
    await lock()
    assert.equal(await hidden(), 'refs/pull\nrefs\nrefs/internal/\nrefs/')
    await unlock()
    assert.equal(await hidden(), 'refs/pull\nrefs\nrefs/internal/')
    assert.equal(await isLocked(), false)
  })

  test('comes after settings and includes that unhide refs', async () => {
    await host.write(dir, 'open.inc', '[receive]\n\thideRefs = !refs/heads/main\n')
    await writeFile(
      join(dir, 'config'),
      `${await config()}[receive]\n\tfsckObjects = true\n[transfer]\n\thideRefs = !refs/heads/main\n[include]\n\tpath = open.inc\n`,
    )
    const before = await config()
    await lock()
    assert.equal(await isLocked(), true)
    await refusesPushes(dir)
    await unlock()
    assert.equal(await config(), before)
  })

  test('is set again after a later setting that unhides refs', async () => {
    await lock()
    await host.write(dir, 'open.inc', '[receive]\n\thideRefs = !refs/heads/main\n')
    await writeFile(join(dir, 'config'), `${await config()}[include]\n\tpath = open.inc\n`)
    assert.equal(await isLocked(), false)
    await lock()
    assert.equal(await isLocked(), true)
    await refusesPushes(dir)
  })

  test('a config that may not be read is reported as such', async () => {
    await chmod(dir, 0)
    await chmod(join(host.root, '..'), 0o755)
    const directory = { owner: '', name: '', path: '', dir, wikiDir: null }
    const error = await asNobody(() =>
      checkPushLocks(host.godwitGit, directory).catch((error: unknown) => error),
    )
    await chmod(dir, 0o755)
    assert.ok(error instanceof Unreadable)
    assert.equal(error.message, 'permission denied')
  })

  test('fails, before and after, if a worktree config unhides refs', async () => {
    await host.git(['config', 'extensions.worktreeConfig', 'true'], { dir })
    assert.equal(await lockProblem(host.godwitGit, dir), undefined)
    await host.write(dir, 'config.worktree', '[receive]\n\thideRefs = !refs/\n')
    assert.match(
      (await lockProblem(host.godwitGit, dir)) ?? '',
      /config\.worktree shows refs again/,
    )
    await assert.rejects(lock(), /shows refs again/)
    assert.equal(await isLocked(), false)
    await unlock()
    await host.push('alice/site', { 'a.txt': 'b' })
  })

  test('may be removed between its edit and its check', async () => {
    let isWanted = true
    const git: Git = {
      ...host.godwitGit,
      async run(args, call) {
        if (isWanted && args.includes('--get-regexp')) {
          isWanted = false
          await unlock()
        }
        return host.godwitGit.run(args, call)
      },
    }
    await reconcilePushLock(git, dir, async () => isWanted)
    assert.equal(await isLocked(), false)
  })

  test('is set again if another process removes it by mistake', async () => {
    let isTaken = false
    const git: Git = {
      ...host.godwitGit,
      async run(args, call) {
        if (!isTaken && args.includes('--get-regexp')) {
          isTaken = true
          await unlock()
        }
        return host.godwitGit.run(args, call)
      },
    }
    await reconcilePushLock(git, dir, async () => true)
    assert.equal(await isLocked(), true)
  })

  test('waits while another process edits the config, and keeps that edit', async () => {
    const held = join(dir, 'config.lock')
    await writeFile(held, `${await config()}[godwit]\n\tarchived = true\n`, { flag: 'wx' })
    const locking = lock()
    const edit = { change: async () => Buffer.of(), isStillWanted: async () => true }
    const another = editConfig(dir, edit, { holderMs: 200 })
    await assert.rejects(another, /another program holds config\.lock/)
    assert.equal(await isLocked(), false)
    await rename(held, join(dir, 'config'))
    await locking
    assert.equal(await isLocked(), true)
    assert.equal(await host.git(['config', 'godwit.archived'], { dir }), 'true')
  })

  test('keeps a concurrent change of the config', async () => {
    // It is quoted in the config, so that git has to parse it.
    await host.git(['config', 'quoted.value', 'a; b'], { dir })
    let changed: Promise<unknown> | undefined
    const git: Git = {
      ...host.godwitGit,
      async run(args, call) {
        const done = await host.godwitGit.run(args, call)
        // Once: several git processes run at the same time, and two edits would block each other.
        changed ??= host.git(['config', 'godwit.archived', 'true'], { dir })
        await changed
        return done
      },
    }
    await reconcilePushLock(git, dir, async () => true)
    assert.equal(await isLocked(), true)
    assert.equal(await host.git(['config', 'godwit.archived'], { dir }), 'true')
  })

  test('many concurrent locks are one lock', async () => {
    await Promise.all([lock(), lock(), lock(), lock()])
    assert.equal(await hidden(), 'refs/')
    await Promise.all([unlock(), unlock(), unlock()])
    assert.equal(await isLocked(), false)
  })

  test('does not change a config behind a link', async () => {
    const other = await host.repository('bob/site')
    const before = await readFile(join(other, 'config'), 'utf8')
    await rm(join(dir, 'config'))
    await symlink(join(other, 'config'), join(dir, 'config'))
    await assert.rejects(lock(), Unreadable)
    assert.equal(await readFile(join(other, 'config'), 'utf8'), before)
  })

  test('keeps the owner of the config', async (t) => {
    if (process.getuid?.() !== 0) return t.skip('only root can give files away')
    await chown(join(dir, 'config'), 65534, 65534)
    await chmod(join(dir, 'config'), 0o640)
    for (const act of [lock, unlock]) {
      await act()
      const { uid, gid, mode } = await stat(join(dir, 'config'))
      assert.deepEqual([uid, gid, mode & 0o777], [65534, 65534, 0o640])
    }
  })
})

/** Git's own HTTP server behind a CGI bridge, as behind the web server of a git host. */
async function serveOverHttp(root: string): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => runGitBackend(root, request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function runGitBackend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname, search } = new URL(request.url ?? '/', 'http://host')
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_NOSYSTEM: '1',
      REMOTE_USER: 'ada',
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      REQUEST_METHOD: request.method,
      CONTENT_TYPE: request.headers['content-type'],
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'],
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  backend.stdin.on('error', () => {}) // it need not read a request that it refuses
  request.pipe(backend.stdin)
  const chunks: Buffer[] = []
  backend.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  backend.once('close', () => {
    const output = Buffer.concat(chunks)
    const end = output.indexOf('\r\n\r\n')
    for (const line of output.toString('latin1', 0, end).split('\r\n')) {
      const [, name = '', value = ''] = /^([^:]+): (.*)$/.exec(line) ?? []
      if (name === 'Status') response.statusCode = Number.parseInt(value, 10)
      else response.setHeader(name, value)
    }
    response.end(output.subarray(end + 4))
  })
}
