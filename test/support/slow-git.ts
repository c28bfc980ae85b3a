import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './wait-until.ts'

export interface SlowGit {
  /** The program for `--git`. */
  program: string
  /** Waits until this many processes (default 1) are slow, and resolves to the id of the last one. */
  pid(howMany?: number): Promise<number>
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
if [ ! -e ${dir}/hurry ]; then
  case "$*" in *rev-list*--objects*--quiet*)
    echo >> ${dir}/proofs
    [ $(wc -l < ${dir}/proofs) -le $(cat ${dir}/quick) ] || {
      echo $$ >> ${pidFile}
      while [ -d ${dir} ] && [ ! -e ${dir}/hurry ]; do sleep 0.1; done
    } ;;
  esac
fi
exec git "$@"
`,
  )
  await chmod(program, 0o755)
  const quick = join(dir, 'quick')
  await writeFile(quick, String(afterFirst))
  const pids = async () => {
    const text = await readFile(pidFile, 'utf8').catch(() => '')
    return text.split('\n').slice(0, -1).map(Number)
  }
  return {
    program,
    async pid(howMany = 1) {
      const slow = await until(`${howMany} of git's proofs have become slow`, async () => {
        const so = await pids()
        return so.length >= howMany && so
      })
      return slow.at(-1)!
    },
    async speedUp() {
      await writeFile(join(dir, 'hurry'), '')
    },
    async slowDown(afterFirst = 0) {
      await writeFile(quick, String(afterFirst))
      for (const name of ['pids', 'proofs', 'hurry']) await rm(join(dir, name), { force: true })
    },
    // A service that was killed by SIGKILL could not stop its git process, which ends when this file is gone.
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
