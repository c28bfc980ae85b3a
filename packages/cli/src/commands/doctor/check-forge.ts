import { connectForge, type Forge } from '@godwit/hosts/forge/connect-forge'
import { readForgeToken } from '@godwit/hosts/forge/forge-token'
import { HostRequestFailed } from '@godwit/hosts/host-errors'
import {
  forgeLocation,
  isReadableByAll,
  TOKEN_FILE_READABLE_BY_ALL,
} from '@godwit/server/service/open-configured-forge'
import type { ServiceConfig } from '../service-settings.ts'
import { type CheckResult, errorText, failure, passed, warning } from './check-result.ts'

const TOKEN_ADVICE =
  'write an access token of an administrator of the forge to a file that only the user that runs Godwit can read'
const TIMEOUT_MS = 10_000

/** Checks that the forge responds, that its version is supported, and that the token can read everything. */
export async function* checkForge(config: ServiceConfig): AsyncGenerator<CheckResult> {
  const location = forgeLocation(config)
  if (!location) return
  const { url, tokenFile } = location
  let token: string
  try {
    token = await readForgeToken(tokenFile)
  } catch (error) {
    return yield failure('forge-token', errorText(error), TOKEN_ADVICE)
  }
  const exposed = `${TOKEN_FILE_READABLE_BY_ALL}: ${tokenFile}`
  yield (await isReadableByAll(tokenFile))
    ? warning('forge-token', exposed, `run \`chmod 600 ${tokenFile}\``)
    : passed('forge-token', `${tokenFile}, readable`)
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const forge = connectForge({ url, token, timeoutMs: TIMEOUT_MS, pauseMs: 100 })
  try {
    const { version, isTokenRestricted } = await forge.getKnownForge(signal)
    yield passed('forge', `${version.kind} ${version.text} at ${url}`)
    if (isTokenRestricted)
      yield failure('forge-token', "the forge's token is not an administrator's", TOKEN_ADVICE)
    else yield* checkSudo(forge, signal)
  } catch (error) {
    const found = signal.aborted ? `${url} did not respond within 10 s` : errorText(error)
    yield failure('forge', found, 'check --forge, the forge, and the token')
  }
}

/** Checks that the token may act for other users, which is how Godwit reads their permissions. */
async function* checkSudo(forge: Forge, signal: AbortSignal): AsyncGenerator<CheckResult> {
  const owner = await forge.tokenOwner(signal)
  try {
    await forge.readPermissions(owner, signal)
  } catch (error) {
    if (!(error instanceof HostRequestFailed)) throw error
    const found = `the forge's token may not read the permissions of users: ${error.message}`
    const advice =
      'give the token read access to everything, in Gitea 1.19 also `sudo`: see docs/FORGE.md'
    yield failure('forge-token', found, advice)
  }
}
