import { openOidc } from '../../service/open-oidc.ts'
import type { Config } from '../../settings/config.ts'
import { type CheckResult, errorText, failure, passed, warning } from './check-result.ts'

/** Checks that the OpenID provider responds and calls itself what `--oidc-issuer` says. */
export async function* checkOidc(config: Config): AsyncGenerator<CheckResult> {
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
