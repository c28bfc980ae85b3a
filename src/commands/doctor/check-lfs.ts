import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, errorText, failure, firstFew, passed, warning } from './check-result.ts'

const ADVICE = 'let the user that runs Godwit read it, or set another --lfs-directory'

/** Objects that cannot be read there would be told as missing, migration by migration. */
export async function* checkLfs({ lfsDirectory, role }: Config): AsyncGenerator<CheckResult> {
  if (lfsDirectory === undefined || role === 'api') return
  const closed: string[] = []
  try {
    for (const entry of await readdir(lfsDirectory, { withFileTypes: true })) {
      if (entry.isDirectory() && !(await isOpen(join(lfsDirectory, entry.name))))
        closed.push(entry.name)
    }
  } catch (error) {
    yield failure('lfs', `${lfsDirectory}: ${errorText(error)}`, ADVICE)
    return
  }
  yield closed.length > 0
    ? warning('lfs', `${lfsDirectory}: cannot be read: ${firstFew(closed)}`, ADVICE)
    : passed('lfs', `${lfsDirectory}, readable`)
}

const isOpen = (folder: string): Promise<boolean> =>
  readdir(folder).then(
    () => true,
    () => false,
  )
