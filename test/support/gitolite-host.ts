import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { skipUnless } from './skip-unless.ts'

const PROGRAMS = '/usr/share/gitolite3'
const searchPath = `${PROGRAMS}:${process.env.PATH ?? '/usr/bin:/bin'}`

/** Options for tests with gitolite. */
export const needsGitolite = skipUnless(isInstalled(), 'gitolite3 is not installed')

function isInstalled(): boolean {
  try {
    execFileSync('which', ['gitolite', 'ssh-keygen'], { env: { PATH: searchPath } })
    return true
  } catch {
    return false
  }
}

export interface GitoliteHost {
  home: string
  /** The directory of its repositories. */
  root: string
  /** Compiles a configuration, like a push to gitolite-admin, and creates its repositories. */
  configure(conf: string): void
  addKey(user: string): void
  /** Returns the pairs `repository user` that gitolite itself allows. */
  allowed(pairs: readonly string[], permission: 'R' | 'W' | '+'): string[]
  /** Runs a command as the ssh connection of a user. */
  ssh(user: string, command: string, input?: string): string
  /** Commits to the default branch of a repository. */
  commit(repository: string): void
}

/** Starts a real gitolite with its own home directory; `operator` is its administrator. */
export function gitoliteHost(t: Pick<TestContext, 'after'>): GitoliteHost {
  const home = mkdtempSync(join(tmpdir(), 'godwit-gitolite-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  const root = join(home, 'repositories')
  const names = { GIT_AUTHOR_NAME: 'git', GIT_COMMITTER_NAME: 'git' }
  const addresses = { GIT_AUTHOR_EMAIL: 'git@example.com', GIT_COMMITTER_EMAIL: 'git@example.com' }
  const env = { HOME: home, PATH: searchPath, LANG: 'C', ...names, ...addresses }
  const run = (program: string, args: readonly string[], input = '', more = {}) =>
    execFileSync(program, args, {
      env: { ...env, ...more },
      cwd: home,
      input,
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
    })
  const makeKey = (user: string): string => {
    const file = join(home, 'keys', user)
    mkdirSync(join(home, 'keys'), { recursive: true })
    run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', user, '-f', file])
    return `${file}.pub`
  }
  run('gitolite', ['setup', '-pk', makeKey('operator')])

  return {
    home,
    root,
    configure(text) {
      writeFileSync(join(home, '.gitolite/conf/gitolite.conf'), text)
      run('gitolite', ['compile'])
    },
    addKey(user) {
      run('cp', [makeKey(user), join(home, '.gitolite/keydir', `${user}.pub`)])
    },
    allowed(pairs, permission) {
      const input = pairs.map((pair) => `${pair}\n`).join('')
      const output = run('gitolite', ['access', '%', '%', permission, 'any'], input).trim()
      return output
        .split('\n')
        .filter((line) => !line.includes('DENIED'))
        .map((line) => line.split('\t').slice(0, 2).join(' '))
    },
    ssh: (user, command, input) =>
      run(join(PROGRAMS, 'gitolite-shell'), [user], input, {
        SSH_ORIGINAL_COMMAND: command,
        SSH_CONNECTION: '127.0.0.1 1 127.0.0.1 22',
      }),
    commit(repository) {
      const git = (...args: string[]) =>
        run('git', [`--git-dir=${join(root, repository)}.git`, ...args]).trim()
      const commit = git('commit-tree', '-m', 'First', git('mktree'))
      git('update-ref', git('symbolic-ref', 'HEAD'), commit)
    },
  }
}
