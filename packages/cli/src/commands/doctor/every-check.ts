import { findGit } from '@godwit/git/git'
import { temporaryGit } from '@godwit/git/temporary-git'
import { openOidc } from '@godwit/server'
import type { ServiceConfig } from '../service-settings.ts'
import { checkAddresses } from './check-addresses.ts'
import { checkBucket } from './check-bucket.ts'
import { checkData, checkMoved, checkSharedData, checkStoredData } from './check-data.ts'
import { checkDatabase } from './check-database.ts'
import { checkForge } from './check-forge.ts'
import { checkConfig, checkMachine } from './check-machine.ts'
import { checkOwnership } from './check-ownership.ts'
import { checkLfs, checkLocks, checkRepositories } from './check-repositories.ts'
import { type CheckResult, errorText, failure, passed, warning } from './check-result.ts'

/** Runs all checks, even after one has failed. They change nothing permanently. Throws after a check during which `signal` aborts. */
export async function* everyCheck(
  config: ServiceConfig,
  signal: AbortSignal,
): AsyncGenerator<CheckResult> {
  for await (const result of allChecks(config, signal)) {
    signal.throwIfAborted()
    yield result
  }
}

async function* allChecks(config: ServiceConfig, signal: AbortSignal): AsyncGenerator<CheckResult> {
  await using temporary = await temporaryGit(config, 'doctor')
  const { git } = temporary
  yield* guarded('machine', checkMachine())
  yield* guarded('config', checkConfig(config))
  const { found, advice } = await findGit(
    { program: config.git, searchPath: config.searchPath },
    git,
  )
  yield advice === undefined ? passed('git', found) : failure('git', found, advice)
  yield* guarded('data', checkData(config))
  yield* guarded('ownership', checkOwnership(config))
  if (advice === undefined) yield* guarded('repositories', checkRepositories(config, git, signal))
  yield* guarded('lfs', checkLfs(config))
  yield* guarded('forge', checkForge(config))
  yield* guarded('oidc', checkOidc(config))
  yield* guarded('database', checkDatabase(config))
  yield* guarded('moved', checkMoved(config))
  yield* guarded('shared data', checkSharedData(config))
  if (advice === undefined) yield* guarded('locks', checkLocks(config, git))
  yield* guarded('bucket', checkBucket(config))
  yield* guarded('stored data', checkStoredData(config))
  yield* guarded('addresses', checkAddresses(config))
}

/** Reports an unexpected error of a check as its result, so that the other checks still run. */
async function* guarded(check: string, findings: AsyncGenerator<CheckResult>) {
  try {
    yield* findings
  } catch (error) {
    yield failure(check, errorText(error), 'check that the user that runs Godwit can reach it')
  }
}

/** Checks that the OpenID provider responds and calls itself what `--oidc-issuer` says. */
async function* checkOidc(config: ServiceConfig): AsyncGenerator<CheckResult> {
  const { oidcIssuer: issuer, oidcClientSecretFile: file } = config
  let logged: string | undefined
  const log = {
    warn(_fields: object, message: string) {
      logged = message
    },
  }
  try {
    const client = await openOidc(config, { now: Date.now, log })
    if (!client) return
    if (logged) yield warning('oidc', logged, `run \`chmod 600 ${file}\``)
    await client.start()
    yield passed('oidc', `${issuer} responds`)
  } catch (error) {
    const advice = `open ${issuer}/.well-known/openid-configuration, and set --oidc-issuer to its \`issuer\``
    yield failure('oidc', logged ?? errorText(error), advice)
  }
}
