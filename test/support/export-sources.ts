import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { noise } from './archive-samples.ts'
import type { GitHost } from './git-host.ts'
import {
  GIT_ENVIRONMENT,
  initBare,
  packedHistory,
  UNUSUAL_REPOSITORIES,
} from './sample-repositories.ts'

const MEGABYTE = 1_000_000

/** Makes a repository with one pack of this many megabytes. */
export async function largePack(dir: string, megabytes: number): Promise<void> {
  initBare(dir)
  // Without compression and deltas, which would take most of the time.
  const quick = ['core.compression=0', 'core.bigFileThreshold=1m', 'fastimport.unpackLimit=0']
  const args = [...quick.flatMap((set) => ['-c', set]), 'fast-import', '--quiet']
  const git = spawn('git', args, {
    env: { ...GIT_ENVIRONMENT, GIT_DIR: dir },
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  const exit = once(git, 'exit')
  await pipeline(Readable.from(commitOfNoise(megabytes), { objectMode: false }), git.stdin)
  const [code] = await exit
  if (code !== 0) throw new Error(`git fast-import ended with ${code}`)
}

function* commitOfNoise(megabytes: number): Generator<Buffer> {
  yield Buffer.from(
    'commit refs/heads/main\ncommitter Ada <ada@example.org> 1700000000 +0000\ndata 0\n',
  )
  const files = Math.ceil(megabytes / 50)
  for (let file = 0; file < files; file++) {
    const size = Math.min(50, megabytes - file * 50)
    yield Buffer.from(`M 100644 inline ${file}.bin\ndata ${size * MEGABYTE}\n`)
    for (let at = 0; at < size; at++) yield noise(MEGABYTE, file * 50 + at)
    yield Buffer.from('\n')
  }
}

/**
 * Makes repositories of alice and returns their names: most are small, some have alternates, a few have some
 * megabytes.
 */
export async function mixedRepositories(host: GitHost, count: number): Promise<string[]> {
  const names = Array.from({ length: count }, (_, n) => `alice/repository-${n}`)
  for (const [n, name] of names.entries()) {
    const dir = host.path(name)
    if (n % 10 === 9) await largePack(dir, n)
    else if (n % 10 === 8) UNUSUAL_REPOSITORIES['objects borrowed from another'](dir)
    else {
      initBare(dir)
      packedHistory(dir, 'refs/heads/main', 1 + n * n)
    }
  }
  return names
}
