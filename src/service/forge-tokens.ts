import { type ForgeSignIn, forgeSignIn, SignInUnavailable } from '../accounts/forge-sign-in.ts'
import type { Db } from '../db/database.ts'
import { isName } from '../lib/names.ts'
import { ignoreRemoval, type RightsRefresher, STORED } from '../repositories/refresh-rights.ts'
import type { AskedForge } from '../sources/forge/connect-forge.ts'
import { ForgeRequestFailed, ForgeUnavailable } from '../sources/forge-errors.ts'
import type { Log } from './log.ts'

interface TokenParts {
  db: Db
  now: () => number
  log: Pick<Log['log'], 'warn'>
  rights?: RightsRefresher | undefined
  forge: Pick<AskedForge, 'url' | 'deadlineMs'> | undefined
}

/** An invalid answer of the forge does not mean that the token is invalid: it is asked again after this time. */
const RETRY_AFTER_MS = 10_000

/** Opens the sign-in with tokens of the forge, if there is a forge. */
export function openForgeSignIn(parts: TokenParts): ForgeSignIn | undefined {
  const { db, now, log, forge, rights } = parts
  if (!forge) return undefined
  const { url } = forge
  return forgeSignIn({
    db,
    now,
    // A removed account is rejected later, when it requests something.
    onSignedIn: async (account) => rights?.refresh(account, STORED).catch(ignoreRemoval),
    warn: (reason) =>
      log.warn({ forge: url, reason }, `sign-in with tokens of the forge: ${reason}`),
    async askForge(token) {
      try {
        const { askTokenOwner } = await import('../sources/forge/connect-forge.ts')
        const owner = await askTokenOwner({ ...forge, now }, token)
        // A login that is not a valid name here cannot own repositories.
        return owner && isName(owner.login) ? owner : undefined
      } catch (error) {
        throw asForgeUnavailable(error, url, now())
      }
    },
  })
}

function asForgeUnavailable(error: unknown, url: string, now: number): unknown {
  if (error instanceof ForgeUnavailable) return new SignInUnavailable(error.dueAt, error.message)
  if (error instanceof ForgeRequestFailed)
    return new SignInUnavailable(now + RETRY_AFTER_MS, error.message)
  if (error instanceof Error && error.name === 'TimeoutError')
    return new SignInUnavailable(now, `${url} did not answer in time`)
  return error
}
