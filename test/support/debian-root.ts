import { execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { temporaryDirectory } from './odd-repositories.ts'
import { skipUnless } from './skip-unless.ts'

const CACHE = process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache')
/** `scripts/debian-root` makes it. */
const TAR = join(CACHE, 'godwit', 'debian-bookworm.tar')

/** Options for tests that install packages. */
export const needsDebianRoot = skipUnless(whyNot() === undefined, whyNot()!)

function whyNot(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root can install a Debian package'
  if (spawnSync('which', ['dpkg-deb', 'chroot']).status !== 0) return 'this is no Debian'
  return existsSync(TAR) ? undefined : 'scripts/debian-root has made no Debian to install in'
}

export interface DebianRoot {
  path(inside: string): string
  text(inside: string): string
  /** Runs a command in it as root, and returns what it printed; a failure rejects with all that was said. */
  run(program: string, ...args: string[]): { stdout: string; said: string }
  /** `-rw-r----- root godwit`. */
  access(inside: string): string
  /** Starts what a unit starts, as its user and with its environment; what else systemd does, it does not. */
  startUnit(name: string, options: SpawnOptions): ReturnType<typeof spawn>
}

const SEARCH_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** A small Debian of its own, as a directory. */
export function debianRoot(t: TestContext): DebianRoot {
  const root = temporaryDirectory(t)
  execFileSync('tar', ['--extract', '--numeric-owner', '--file', TAR, '--directory', root])
  // Whoever is not root must find the way.
  execFileSync('chmod', ['755', root])
  const path = (inside: string) => join(root, inside)
  const text = (inside: string) => readFileSync(path(inside), 'utf8')

  const run: DebianRoot['run'] = (program, ...args) => {
    const inside = [root, 'env', '-i', SEARCH_PATH, 'HOME=/root', 'DEBIAN_FRONTEND=noninteractive']
    const ended = spawnSync('chroot', [...inside, program, ...args], { encoding: 'utf8' })
    const said = `${ended.stdout}${ended.stderr}`
    if (ended.status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${said}`)
    return { stdout: ended.stdout.trimEnd(), said }
  }

  return {
    path,
    text,
    run,
    access: (inside) => run('stat', '--format=%A %U %G', inside).stdout,
    startUnit(name, options) {
      const unit = text(`/usr/lib/systemd/system/${name}`)
      const all = (key: string) =>
        [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value]) => value!)
      const user = all('User')[0]!
      for (const [kind, place] of [
        ['StateDirectory', 'var/lib'],
        ['CacheDirectory', 'var/cache'],
      ] as const)
        for (const each of all(kind))
          run('install', '--directory', `--owner=${user}`, `--group=${user}`, `/${place}/${each}`)
      const groups = all('SupplementaryGroups').join(',')
      const identity = [`--userspec=${user}:${user}`, `--groups=${groups}`]
      const environment = ['env', '-i', SEARCH_PATH, ...all('Environment')]
      const command = all('ExecStart')[0]!.split(' ')
      return spawn('chroot', [...identity, root, ...environment, ...command], options)
    },
  }
}

/** What is in a package, as bytes that do not depend on how it was compressed. */
export function contentsDigest(deb: string): string {
  const script = 'dpkg-deb --fsys-tarfile "$0" | sha256sum'
  return execFileSync('sh', ['-c', script, deb], { encoding: 'utf8' }).split(' ')[0]!
}
