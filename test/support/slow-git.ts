import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './wait-until.ts'

export interface SlowGit {
  /** For `--git`. */
  program: string
  /** The process that became slow last; waits until there is one, or that many. */
  pid(howMany?: number): Promise<number>
  /** From now on it is as quick as git; those that are slow go on. */
  hurry(): Promise<void>
  /** And now it is slow again, as if from the start: but for the first few. */
  dawdle(afterFirst?: number): Promise<void>
  remove(): Promise<void>
}

/**
 * Real git, except that proving a snapshot takes for ever, but for the first few: an export in the middle of its work, for
 * as long as it takes.
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
    async hurry() {
      await writeFile(join(dir, 'hurry'), '')
    },
    async dawdle(afterFirst = 0) {
      await writeFile(quick, String(afterFirst))
      for (const name of ['pids', 'proofs', 'hurry']) await rm(join(dir, name), { force: true })
    },
    // Whoever was killed with -9 could not stop the git it had started: that ends by itself when this is gone.
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
