import { glob, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { FINISH_FILE, type FinishRecord } from '@godwit/archive/formats/gitea-dump/finish-records'
import { UserError } from '@godwit/lib/user-error'
import { connectTarget } from '../forge/target-server.ts'
import { type FinishRepositoryOptions, finishRepository } from './finish-repository.ts'
import { type FinishRun, type FinishRunOptions, openJournal, startRun } from './finish-run.ts'

interface FinishOptions
  extends Omit<FinishRunOptions, 'server' | 'journal'>,
    Pick<FinishRepositoryOptions, 'owner' | 'people'> {
  /** The directory that `godwit convert --to gitea-dump` wrote. */
  dump: string
  url: string
  token: string
  /** The repositories to finish, as `OWNER/NAME` in the dump. If empty, all are. */
  repositories: readonly string[]
}

const JOURNAL = 'finish.journal'

/**
 * Brings everything that `restore-repo` does not restore to the server, repository by repository. What an earlier run has done is not
 * done again. The result has what the server refused. Rejects with HostUnavailable or HostRequestFailed if it cannot go on.
 */
export async function finishDump(options: FinishOptions): Promise<FinishRun> {
  const { dump, repositories, isDryRun, signal } = options
  const directories = await listDumps(dump, repositories)
  const server = await connectTarget(options, signal)
  await using journal = await openJournal(join(dump, JOURNAL), { isDryRun })
  const run = startRun({ ...options, server, journal })
  for (const directory of directories) {
    const records = await readRecords(join(directory, FINISH_FILE))
    await finishRepository({ ...options, run, directory, records }).catch((error: unknown) =>
      run.recordFailure(directory, error),
    )
    run.prepare = undefined
  }
  return run
}

/** Returns the directories of the repositories. Throws UserError if one of `wanted` is missing, or if there are none at all. */
async function listDumps(dump: string, wanted: readonly string[]): Promise<string[]> {
  // Without the braces, a repository such as `.github` would be overlooked.
  const files = await Array.fromAsync(glob(`*/{,.}*/${FINISH_FILE}`, { cwd: dump }))
  const names = files.map(dirname).sort()
  if (names.length === 0)
    throw new UserError(`${dump} has no dumps: name the output of convert --to gitea-dump`)
  const isIn = (list: readonly string[], name: string) =>
    list.some((each) => each.toLowerCase() === name.toLowerCase())
  const missing = wanted.find((name) => !isIn(names, name))
  if (missing !== undefined) throw new UserError(`${missing} is not in ${dump}`)
  const chosen = wanted.length === 0 ? names : names.filter((name) => isIn(wanted, name))
  return chosen.map((name) => join(dump, name))
}

async function readRecords(file: string): Promise<FinishRecord[]> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UserError(`${file} is damaged: copy the dump again`, { cause: error })
  }
}
