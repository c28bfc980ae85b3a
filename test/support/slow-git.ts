import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './wait-until.ts'

export interface SlowGit {
  /** The program for `--git`. */
  program: string
  /** Waits until this many processes (default 1) are slow, and resolves to the id of the last one. */
  untilSlow(howMany?: number): Promise<number>
  /** Makes new git processes fast; processes that are slow already stay slow. */
  speedUp(): Promise<void>
  /** Makes git slow again, except the first `afterFirst` processes. */
  slowDown(afterFirst?: number): Promise<void>
  remove(): Promise<void>
}

/**
 * Makes a git program that never finishes the verification of a snapshot, except for the first `afterFirst`: an
 * export that stays in the middle of its work.
 */
export async function slowGit({ afterFirst = 0 } = {}): Promise<SlowGit> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-slow-git-'))
  const program = join(dir, 'git')
  const pidFile = join(dir, 'pids')
  await writeFile(
    program,
    `#!/bin/sh
if [ ! -e ${dir}/fast ]; then
  case "$*" in *rev-list*--objects*--quiet*)
    echo >> ${dir}/verifications
    [ $(wc -l < ${dir}/verifications) -le $(cat ${dir}/fast-runs) ] || {
      echo $$ >> ${pidFile}
      while [ -d ${dir} ] && [ ! -e ${dir}/fast ]; do sleep 0.1; done
    } ;;
  esac
fi
exec git "$@"
`,
  )
  await chmod(program, 0o755)
  const fastRuns = join(dir, 'fast-runs')
  await writeFile(fastRuns, String(afterFirst))
  const pids = async () => {
    const text = await readFile(pidFile, 'utf8').catch(() => '')
    return text.split('\n').slice(0, -1).map(Number)
  }
  return {
    program,
    async untilSlow(howMany = 1) {
      const slow = await until(`${howMany} git processes are slow`, async () => {
        const running = await pids()
        return running.length >= howMany && running
      })
      return slow.at(-1)!
    },
    async speedUp() {
      await writeFile(join(dir, 'fast'), '')
    },
    async slowDown(afterFirst = 0) {
      await writeFile(fastRuns, String(afterFirst))
      for (const name of ['pids', 'verifications', 'fast'])
        await rm(join(dir, name), { force: true })
    },
    // A service that was killed by SIGKILL could not stop its git process, which ends when this file is gone.
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
