import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGit } from '../../git/git.ts'
import { lookForGit } from '../../git/installed-git.ts'
import type { Config } from '../../settings/config.ts'
import { checkAddresses } from './check-addresses.ts'
import { checkBucket } from './check-bucket.ts'
import { checkConfig } from './check-config.ts'
import { checkData } from './check-data.ts'
import { checkDatabase } from './check-database.ts'
import { checkForge } from './check-forge.ts'
import { checkLfs } from './check-lfs.ts'
import { checkLocks } from './check-locks.ts'
import { checkMachine } from './check-machine.ts'
import { checkOwnership } from './check-ownership.ts'
import { checkRepositories } from './check-repositories.ts'
import { type CheckResult, errorText, failure, passed } from './check-result.ts'
import { checkSharedData } from './check-shared-data.ts'
import { checkStoredData } from './check-stored-data.ts'

/** All that can be found, whatever is an error on the way; nothing that stays is changed. */
export async function* everyCheck(config: Config): AsyncGenerator<CheckResult> {
  const home = await mkdtemp(join(tmpdir(), 'godwit-doctor-'))
  try {
    const place = { program: config.git, searchPath: config.searchPath }
    const git = createGit({ ...place, home })
    yield* guarded('machine', checkMachine())
    yield* guarded('config', checkConfig(config))
    const { found, advice } = await lookForGit(place, git)
    yield advice === undefined ? passed('git', found) : failure('git', found, advice)
    yield* guarded('data', checkData(config))
    yield* guarded('ownership', checkOwnership(config))
    if (advice === undefined) yield* guarded('repositories', checkRepositories(config, git))
    yield* guarded('lfs', checkLfs(config))
    yield* guarded('forge', checkForge(config))
    yield* guarded('database', checkDatabase(config))
    yield* guarded('shared data', checkSharedData(config))
    if (advice === undefined) yield* guarded('locks', checkLocks(config, git))
    yield* guarded('bucket', checkBucket(config))
    yield* guarded('stored data', checkStoredData(config))
    yield* guarded('addresses', checkAddresses(config))
  } finally {
    await rm(home, { recursive: true, force: true })
  }
}

/** What a check did not think of is a finding too, and the others go on. */
async function* guarded(
  check: string,
  findings: AsyncGenerator<CheckResult>,
): AsyncGenerator<CheckResult> {
  try {
    yield* findings
  } catch (error) {
    yield failure(check, errorText(error), 'check that the user that runs Godwit can reach it')
  }
}
