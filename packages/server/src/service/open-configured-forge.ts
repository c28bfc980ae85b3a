import { stat } from 'node:fs/promises'
import type { Forge, TokenCheckOptions, TokenRefusal } from '@godwit/hosts/forge/connect-forge'
import { readForgeToken } from '@godwit/hosts/forge/forge-token'
import { normalizeHostUrl } from '@godwit/hosts/host-url'
import type { Source } from '@godwit/hosts/source'
import { isName } from '@godwit/lib/names'
import { UsageError, UserError } from '@godwit/lib/user-error'
import type { Account } from '../accounts/account.ts'
import type { AuditDependencies } from '../accounts/audit-log.ts'
import {
  type ForgeSignIn,
  ForgeTokenRefused,
  forgeSignIn,
  SignInUnavailable,
} from '../accounts/forge-sign-in.ts'
import type { Db } from '../db/database.ts'
import { createForgeBudget } from '../repositories/forge-budget-store.ts'
import { forgeSource } from '../repositories/forge-source.ts'
import { grantedByForge } from '../repositories/permission-store.ts'
import { asPermissionsUnavailable } from '../repositories/permissions-unavailable.ts'
import {
  AccountRemoved,
  FRESH,
  type PermissionsAge,
  type PermissionsRefresher,
  permissionsRefresher,
  RECENT_IF_AVAILABLE,
} from '../repositories/refresh-permissions.ts'

export interface ForgeSettings {
  forge: string | undefined
  forgeTokenFile: string | undefined
  forgeRateLimit: number
  forgeStorageOrigins: string[] | undefined
}

interface ForgeDependencies {
  db: Db
  now: () => number
  log: { warn(fields: object, message: string): void }
}

/**
 * Opens the Gitea or Forgejo of `--forge`, with the token of an administrator. It sends no request yet, so that Godwit starts while
 * the forge is unavailable.
 */
export async function openConfiguredForge(
  settings: ForgeSettings,
  { db, now, log }: ForgeDependencies,
): Promise<Forge | undefined> {
  const location = forgeLocation(settings)
  if (!location) return undefined
  const { url, tokenFile } = location
  const token = await readForgeToken(tokenFile).catch((error: UserError) => {
    throw new UserError(`--forge-token-file: ${error.message}`, { cause: error })
  })
  if (await isReadableByAll(tokenFile)) log.warn({ file: tokenFile }, TOKEN_FILE_READABLE_BY_ALL)
  const { forgeRateLimit: requestsPerMinute, forgeStorageOrigins: storageOrigins = [] } = settings
  const budget = createForgeBudget({ db, forge: url, requestsPerMinute, now })
  // Loaded on demand: most hosts have no forge.
  const { connectForge } = await import('@godwit/hosts/forge/connect-forge')
  return connectForge({ url, token, budget, storageOrigins, now })
}

/** Adds the forge's metadata of repositories to a source, if there is a forge. */
export function withForge(
  source: Source,
  forge: Forge | undefined,
  { db, now, log }: ForgeDependencies,
): Source {
  if (!forge) return source
  const { url, forgeRepositories } = forge
  const warn = (reason: string) =>
    log.warn({ forge: url, reason }, `repositories of the forge: ${reason}`)
  return forgeSource(source, { db, forgeRepositories, now, warn })
}

interface OpenPermissionsDependencies extends ForgeDependencies {
  log: ForgeDependencies['log'] & NonNullable<AuditDependencies['log']>
  source: Source | undefined
  forge: Forge | undefined
}

/** Returns the refresher of what accounts may do on the forge; undefined without a forge. */
export function openPermissions({
  forge,
  log,
  ...dependencies
}: OpenPermissionsDependencies): PermissionsRefresher | undefined {
  if (!forge) return undefined
  const { url, forgeRepositories, readPermissions } = forge
  return permissionsRefresher({
    ...dependencies,
    forgeRepositories,
    readPermissions,
    log,
    warn: (reason) => log.warn({ forge: url, reason }, `permissions of the forge: ${reason}`),
  })
}

type TokenChecks = Pick<
  typeof import('@godwit/hosts/forge/connect-forge'),
  'readTokenOwner' | 'checkTokenAccess'
>

interface SignInDependencies extends ForgeDependencies {
  permissionsRefresher?: PermissionsRefresher | undefined
  forge: Pick<TokenCheckOptions, 'url' | 'deadlineMs'> | undefined
}

/** Opens the sign-in with tokens of the forge, if there is a forge. */
export function openForgeSignIn(dependencies: SignInDependencies): ForgeSignIn | undefined {
  const { db, now, log, forge, permissionsRefresher } = dependencies
  if (!forge) return undefined
  const { url } = forge
  const warn = (reason: string) =>
    log.warn({ forge: url, reason }, `sign-in with tokens of the forge: ${reason}`)
  const refuse = ({ refusal, login = 'somebody' }: TokenRefusal): never => {
    warn(`a token of ${login} is refused: ${refusal}`)
    throw new ForgeTokenRefused(refusal)
  }
  /** Asks the forge about a token. Rejects with SignInUnavailable if it cannot answer. */
  async function ask<T>(question: (checks: TokenChecks) => Promise<T>): Promise<T> {
    try {
      return await question(await import('@godwit/hosts/forge/connect-forge'))
    } catch (error) {
      const { retryAt, message } = asPermissionsUnavailable(error, now())
      throw new SignInUnavailable(retryAt, message)
    }
  }
  const options = { ...forge, now }
  /** Compares what the forge grants the account with what the token may read. */
  async function compareAccess(account: Account, token: string, age: PermissionsAge) {
    try {
      await permissionsRefresher?.refresh(account, age)
    } catch (error) {
      if (error instanceof AccountRemoved) return { refusal: `${error.message}.` }
      throw error
    }
    const granted = await grantedByForge(db, account)
    return ask(({ checkTokenAccess }) => checkTokenAccess(options, token, granted))
  }
  return forgeSignIn({
    db,
    now,
    warn,
    async onSignedIn(account, token) {
      if (!permissionsRefresher) return
      // The stored permissions are up to a minute old, so a refusal counts only with new ones.
      if (!(await compareAccess(account, token, RECENT_IF_AVAILABLE))) return
      const refusal = await compareAccess(account, token, FRESH)
      if (refusal) refuse({ ...refusal, login: account.login })
    },
    async readTokenOwner(token) {
      const owner = await ask(({ readTokenOwner }) => readTokenOwner(options, token))
      if (owner && 'refusal' in owner) return refuse(owner)
      // A login that is not a valid name here cannot own repositories.
      return owner && isName(owner.login) ? owner : undefined
    },
  })
}

/** Returns the address of the forge and the file of its token. Throws if only one of the two is set. */
export function forgeLocation({
  forge,
  forgeTokenFile,
}: Pick<ForgeSettings, 'forge' | 'forgeTokenFile'>):
  | { url: string; tokenFile: string }
  | undefined {
  if (forge === undefined && forgeTokenFile === undefined) return undefined
  if (forge === undefined) throw new UsageError('--forge-token-file needs --forge URL')
  if (forgeTokenFile === undefined) throw new UsageError('--forge needs --forge-token-file FILE')
  return { url: normalizeHostUrl(forge), tokenFile: forgeTokenFile }
}

export const TOKEN_FILE_READABLE_BY_ALL =
  "every user of this machine can read the file of the forge's token"

export const isReadableByAll = async (file: string): Promise<boolean> =>
  ((await stat(file)).mode & 0o004) !== 0
