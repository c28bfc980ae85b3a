import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { link, lstat, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { type GitHost, gitHost } from '../../../../../test/support/git-host.ts'
import { recordSyncs } from '../../../../../test/support/record-syncs.ts'
import { until, withTimeout } from '../../../../../test/support/wait-until.ts'
import type { Git } from '../../../../git/src/git.ts'
import { RepositoryBusy } from '../../../../git/src/unreadable.ts'
import { editConfig, livenessName } from './edit-config.ts'
import { reconcilePushLock } from './push-lock.ts'

const PROCESS = new URL('../../../../../test/support/dying-edit-process.ts', import.meta.url)
  .pathname
const HELD = /another program holds config\.lock/
const run = promisify(execFile)

const HOSTS_OWN = {
  'remote.origin.url': 'ssh://elsewhere/site',
  'receive.denyDeletes': 'true',
  'receive.hideRefs': ['refs/pull', 'refs'],
  'transfer.hideRefs': '!refs/pull/open',
  // It is quoted in the config, so that git has to parse it.
  'quoted.value': 'a; b',
}

describe('a config that is edited', () => {
  let host: GitHost
  let dir: string
  let before: Buffer

  beforeEach(async () => {
    host = await gitHost()
    dir = await host.repository('alice/site', { files: { a: 'a' }, config: HOSTS_OWN })
    before = await config()
  })
  afterEach(() => host.remove())

  const config = () => readFile(join(dir, 'config'))
  const reconcile = (isLocked: boolean, git = host.godwitGit) =>
    reconcilePushLock(git, dir, async () => isLocked)
  const tryBriefly = () =>
    editConfig(
      dir,
      { change: async () => Buffer.of(), isStillWanted: async () => true },
      { holderMs: 200 },
    )
  const leftovers = async () =>
    (await readdir(dir)).filter((name) => name.startsWith('config') && name !== 'config')

  /** Returns the number of calls; undefined if the process was killed. */
  async function stepsOfLocking(killedBefore: number): Promise<number | undefined> {
    const home = join(host.root, '../dying-home')
    const ended = run(process.execPath, [PROCESS, dir, home, String(killedBefore)])
    return ended.then(
      ({ stdout }) => Number(stdout),
      (error) => {
        assert.equal(error.signal, 'SIGKILL', error.stderr)
        return undefined
      },
    )
  }

  test('is edited beside a liveness file that is a link, whose target is not touched', async () => {
    const elsewhere = join(host.root, '../elsewhere')
    await symlink(elsewhere, join(dir, livenessName('00000000-0000-4000-8000-000000000000')))
    await reconcile(true)
    await assert.rejects(lstat(elsewhere), { code: 'ENOENT' })
  })

  test('is complete and can be edited, wherever an editing process is killed', async () => {
    await reconcile(true)
    const locked = await config()
    for (let step = 1, steps: number | undefined; steps === undefined; step++) {
      await reconcile(false)
      steps = await stepsOfLocking(step)
      const after = await config()
      assert.ok(after.equals(before) || after.equals(locked), `step ${step}: ${after}`)
      await reconcile(true)
      assert.deepEqual(await config(), locked, `step ${step}`)
      assert.deepEqual(await leftovers(), [], `step ${step}`)
      if (steps !== undefined) assert.ok(steps > 10, `${steps} steps`)
    }
  })

  test('is synced before it gets its name, and its folder after', async (t) => {
    // Renaming it to the config ends the lock.
    const synced = await recordSyncs(t, join(dir, 'config.lock'))
    await reconcile(true)
    assert.equal(synced.get((await stat(join(dir, 'config'))).ino), false)
    assert.equal(synced.get((await stat(dir)).ino), false)
    assert.deepEqual([...synced.keys()].at(-1), (await stat(dir)).ino)
  })

  test('is not changed by another process while git is slow', async () => {
    const slow = Promise.withResolvers<void>()
    let isSlow = false
    const git: Git = {
      ...host.godwitGit,
      async run(args, call) {
        if (!isSlow) {
          isSlow = true
          await slow.promise
        }
        return host.godwitGit.run(args, call)
      },
    }
    const late = reconcile(true, git)
    await until('git is slow', () => isSlow)
    assert.deepEqual(await leftovers(), [], 'nothing is held while git works')
    await reconcile(true)
    await host.git(['config', 'host.changed', 'meanwhile'], { dir })
    slow.resolve()
    await late
    await reconcile(false)
    await host.git(['config', '--remove-section', 'host'], { dir })
    assert.deepEqual(await config(), before)
  })

  test('stays locked by a stopped process, and not by a killed one', async () => {
    const stopped = spawn(process.execPath, ['--input-type=module', '-e', STOPPED(dir)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await withTimeout('the other process holds it', once(stopped.stdout, 'data'))
    assert.equal((await leftovers()).length, 3)
    await assert.rejects(tryBriefly(), HELD)
    assert.equal((await leftovers()).length, 3, 'what it holds is not touched')
    stopped.kill('SIGKILL')
    await withTimeout('the other process is dead', once(stopped, 'exit'))
    await reconcile(true)
    await reconcile(false)
    assert.deepEqual(await config(), before)
    assert.deepEqual(await leftovers(), [])
  })

  test('is not edited while git holds the lock, also after an edit of ours was killed', async () => {
    await writeFile(join(dir, 'config.lock'), 'of git', { flag: 'wx' })
    const dead = join(dir, `config.godwit-00000000-${crypto.randomUUID()}`)
    await writeFile(dead, 'half of a con')
    await assert.rejects(tryBriefly(), HELD)
    assert.equal(await readFile(join(dir, 'config.lock'), 'utf8'), 'of git')
    assert.deepEqual(await config(), before)
  })

  test('stays locked for a while by an edit of another machine, which may be dead', async () => {
    const draft = join(dir, `config.godwit-00000000-${crypto.randomUUID()}`)
    await writeFile(draft, 'half of a con')
    await link(draft, join(dir, 'config.lock'))
    await assert.rejects(tryBriefly(), HELD)
    assert.equal((await leftovers()).length, 2)
  })

  test('stays unchanged if the edit is no longer wanted when it gets the lock', async () => {
    const isDone = await editConfig(dir, {
      change: async () => Buffer.from('[core]'),
      isStillWanted: async () => {
        assert.ok(await lstat(join(dir, 'config.lock')), 'called while nobody else can edit')
        return false
      },
    })
    assert.equal(isDone, false)
    assert.deepEqual(await config(), before)
    assert.deepEqual(await leftovers(), [])
  })

  test('is read again if it was changed without a lock', async () => {
    let calls = 0
    await editConfig(dir, {
      change: async (text) => Buffer.concat([text, Buffer.from('[ours]\n')]),
      async isStillWanted() {
        calls += 1
        if (calls === 1) await writeFile(join(dir, 'config'), '[theirs]\n')
        return true
      },
    })
    assert.equal(String(await config()), '[theirs]\n[ours]\n')
    assert.deepEqual(await leftovers(), [])
  })

  test('is edited in the end, however often others are faster', async () => {
    const OFTEN = 5
    let changes = 0
    const edit = {
      async change(text: Buffer) {
        // Git takes the lock each time, in total for longer than the timeout for one holder.
        if (changes < OFTEN) await host.git(['config', 'host.edit', String(++changes)], { dir })
        return Buffer.concat([text, Buffer.from('[ours]\n')])
      },
      isStillWanted: async () => true,
    }
    assert.equal(await editConfig(dir, edit, { holderMs: 1 }), true)
    assert.equal(String(await config()), `${before}[host]\n\tedit = ${OFTEN}\n[ours]\n`)
    assert.deepEqual(await leftovers(), [])
  })

  test('is unlocked and tried again if isStillWanted takes too long', async () => {
    const responses = [new Promise<boolean>(() => {}), new Promise<boolean>(() => {})]
    const edit = {
      change: async (text: Buffer) => Buffer.concat([text, Buffer.from('[ours]\n')]),
      async isStillWanted() {
        // The config can be locked only if it was unlocked.
        return (await responses.shift()) ?? true
      },
    }
    assert.equal(await editConfig(dir, edit, { checkMs: 1 }), true)
    assert.equal(String(await config()), `${before}[ours]\n`)
    const never = { ...edit, isStillWanted: () => new Promise<boolean>(() => {}) }
    const timeouts = { checkMs: 1, maxCheckMs: 1 }
    await assert.rejects(editConfig(dir, never, timeouts), RepositoryBusy)
    assert.deepEqual(await leftovers(), [])
  })

  test('keeps all other bytes', async () => {
    for (const text of [
      '',
      '[core]\n\tbare = true',
      '[core]\r\n\tbare = true\r\n# no more',
      '[receive]\n',
      '[receive]\n\t# of the host\n[receive]\n\tdenyDeletes = true ; why\n\n\n',
      '[user]\n\tname = J\xf6rg\n[transfer]\n\thideRefs = !refs/heads/main\n',
    ]) {
      const bytes = Buffer.from(`[core]\n\trepositoryformatversion = 0\n${text}`, 'latin1')
      await writeFile(join(dir, 'config'), bytes)
      await reconcile(true)
      await assert.rejects(host.push('alice/site', { a: 'b' }), /hidden ref/)
      await reconcile(false)
      assert.deepEqual(await config(), bytes)
    }
  })

  test('keeps what the host has added after the lock or to its section', async () => {
    await reconcile(true)
    await host.git(['config', 'receive.maxInputSize', '1'], { dir })
    await host.git(['config', 'later.key', 'x'], { dir })
    await reconcile(false)
    await host.git(['config', '--unset', 'receive.maxInputSize'], { dir })
    await host.git(['config', '--remove-section', 'later'], { dir })
    assert.deepEqual(await config(), before)
  })

  test('is not changed if the lock would change other settings', async () => {
    await writeFile(join(dir, 'config'), `${before}[last]\n\tkey = goes on \\\n`)
    await assert.rejects(reconcile(true), /without changing other settings/)
    assert.equal(String(await config()), `${before}[last]\n\tkey = goes on \\\n`)
  })
})

/** Locks the config and then hangs. */
const STOPPED = (dir: string) => `
  const { editConfig } = await import(${JSON.stringify(new URL('edit-config.ts', import.meta.url).href)})
  await editConfig(${JSON.stringify(dir)}, {
    change: async (config) => Buffer.concat([config, Buffer.from('[stopped]\\n')]),
    async isStillWanted() {
      process.stdout.write('held')
      await new Promise((resolve) => setImmediate(() => setTimeout(resolve, 0)))
      process.kill(process.pid, 'SIGSTOP')
      return true
    },
  })
`
