import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface RecordingGit {
  /** For `--git`. */
  program: string
  /** The arguments and the environment of every git that ran, as any user of the machine might see the first. */
  recorded(): Promise<{ arguments: string; environment: string }>
  remove(): Promise<void>
}

/** Real git that writes down how it was called. */
export async function recordingGit(): Promise<RecordingGit> {
  const dir = await mkdtemp(join(tmpdir(), 'godwit-recording-git-'))
  const program = join(dir, 'git')
  await writeFile(
    program,
    `#!/bin/sh\nprintf '%s\\n' "$*" >> ${dir}/arguments\nenv >> ${dir}/environment\nexec git "$@"\n`,
  )
  await chmod(program, 0o755)
  return {
    program,
    async recorded() {
      const read = (name: string) => readFile(join(dir, name), 'utf8')
      return { arguments: await read('arguments'), environment: await read('environment') }
    },
    remove: () => rm(dir, { recursive: true, force: true }),
  }
}
