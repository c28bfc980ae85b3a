import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface SlowGit {
  /** For `--git`. */
  program: string
  /** The process that is being slow now; waits until there is one. */
  pid(): Promise<number>
  /** From now on it is as quick as git. */
  hurry(): Promise<void>
  remove(): Promise<void>
}

/** Real git, except that proving a snapshot takes for ever: an export in the middle of its work, for as long as it takes. */
export async function slowGit(): Promise<SlowGit> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-slow-git-'))
  const program = join(dir, 'git')
  const pidFile = join(dir, 'pid')
  await writeFile(
    program,
    `#!/bin/sh
if [ ! -e ${dir}/hurry ]; then
  case "$*" in *rev-list*--objects*) echo $$ > ${pidFile}; exec sleep 600 ;; esac
fi
exec git "$@"
`,
  )
  await chmod(program, 0o755)
  return {
    program,
    async pid() {
      for (;;) {
        const text = await readFile(pidFile, 'utf8').catch(() => '')
        if (text.endsWith('\n')) return Number(text)
        await sleep(10)
      }
    },
    async hurry() {
      await writeFile(join(dir, 'hurry'), '')
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
