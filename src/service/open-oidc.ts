import { readFile } from 'node:fs/promises'
import type { OidcClient } from '../http/routes/sessions/oidc-client.ts'
import { codeOf } from '../lib/errno.ts'
import { UserError } from '../lib/user-error.ts'
import type { OidcClientSettings, OidcParts } from './oidc-client.ts'
import { isReadableByAll } from './open-forge.ts'

export interface OidcSettings extends OidcClientSettings {
  oidcClientId: string | undefined
  oidcClientSecretFile: string | undefined
}

/** Opens the OpenID provider of `--oidc-issuer`, if there is one. Sends no request yet, since the provider may be unavailable. */
export async function openOidc(
  settings: OidcSettings,
  parts: OidcParts,
): Promise<OidcClient | undefined> {
  const { oidcIssuer, oidcClientId: clientId, oidcClientSecretFile: file } = settings
  if (oidcIssuer === undefined || clientId === undefined || file === undefined) return undefined
  const secret = await readSecret(file)
  if (await isReadableByAll(file))
    parts.log.warn({ file }, 'every user of this machine can read the secret of the OpenID client')
  // Loaded on demand: most hosts have no OpenID provider.
  const { createOidcClient } = await import('./oidc-client.ts')
  return createOidcClient(settings, { issuer: new URL(oidcIssuer), clientId, secret }, parts)
}

async function readSecret(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`--oidc-client-secret-file: cannot read ${file}: ${codeOf(error)}`)
  })
  if (text.trim() === '') throw new UserError(`--oidc-client-secret-file: ${file} is empty`)
  return text.trim()
}
