import { createReadStream, existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { FINISH_FILE, type FinishFact } from '../../formats/gitea-dump/finish-facts.ts'
import { UserError } from '../../lib/user-error.ts'
import { ForgeRequestFailed } from '../../sources/forge-errors.ts'
import { finishRepository } from './finish-repository.ts'
import { FinishRun, type FinishRunOptions } from './finish-run.ts'
import { Journal } from './journal.ts'
import { TargetServer } from './target-server.ts'

export interface FinishOptions extends Omit<FinishRunOptions, 'server' | 'journal'> {
  /** The directory that `godwit convert --to gitea-dump` wrote. */
  dump: string
  url: string
  token: string
  /** The repositories to finish, as `OWNER/NAME` in the dump. If empty, all are. */
  repositories: readonly string[]
  /** The owner that all repositories were restored under, if it is not that of the dump. */
  owner: string | undefined
  /** The new logins by the old ones in lower case, instead of those of the conversion. */
  people: ReadonlyMap<string, string> | undefined
}

const JOURNAL = 'finish.journal'

/**
 * Brings everything that `restore-repo` does not restore to the server, repository by repository. What an earlier run has done is not
 * done again. Rejects with ForgeUnavailable or ForgeRequestFailed if it cannot go on.
 */
export async function finishDump(options: FinishOptions): Promise<FinishRun> {
  const { dump, repositories, isDryRun, signal } = options
  const directories = await listDumps(dump, repositories)
  const server = await TargetServer.connect(options, signal)
  await using journal = await Journal.open(join(dump, JOURNAL), { isDryRun })
  const run = new FinishRun({ ...options, server, journal })
  for (const directory of directories) {
    const facts = await readFacts(join(directory, FINISH_FILE))
    await finishRepository({ ...options, run, directory, facts }).catch((error: unknown) => {
      if (!(error instanceof ForgeRequestFailed) || error.status === 401) throw error
      run.failed.push(`${directory}: ${error.message}`)
    })
    run.prepare = undefined
  }
  return run
}

/** Returns the directories of the repositories. Throws UserError if one of `wanted`, or any, is missing. */
async function listDumps(dump: string, wanted: readonly string[]): Promise<string[]> {
  const names: string[] = []
  for (const owner of await readdir(dump, { withFileTypes: true })) {
    if (!owner.isDirectory()) continue
    for (const name of await readdir(join(dump, owner.name)))
      if (existsSync(join(dump, owner.name, name, FINISH_FILE))) names.push(`${owner.name}/${name}`)
  }
  const isIn = (list: readonly string[], name: string) =>
    list.some((each) => each.toLowerCase() === name.toLowerCase())
  const missing = wanted.find((name) => !isIn(names, name))
  if (missing !== undefined) throw new UserError(`${missing} is not in ${dump}`)
  if (names.length === 0)
    throw new UserError(`${dump} has no dumps: name the output of convert --to gitea-dump`)
  const chosen = wanted.length === 0 ? names : names.filter((name) => isIn(wanted, name))
  return chosen.sort().map((name) => join(dump, name))
}

/** Reads the list of facts, which has one on each line. */
async function readFacts(file: string): Promise<FinishFact[]> {
  const facts: FinishFact[] = []
  for await (const line of createInterface(createReadStream(file)))
    if (line.startsWith('{')) facts.push(parseFact(line.replace(/,$/, ''), file))
  return facts
}

function parseFact(line: string, file: string): FinishFact {
  try {
    return JSON.parse(line)
  } catch (error) {
    throw new UserError(`${file} is damaged: copy the dump again`, { cause: error })
  }
}
