import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { type ForgeSignIn, mayBeForgeToken } from './forge-sign-in.ts'
import { decryptToken, findSession, type Session } from './session-store.ts'
import { digestOf, findViewer, looksLikeToken, recordTokenUse } from './token-store.ts'

export interface Authenticator {
  /**
   * Returns the owner of a token, or undefined if it is not valid. Tokens are looked up every time, so a revoked one stops working at
   * once, and one that was revoked on the forge within a minute. If `mayAskForge` resolves to false, because the caller has sent too
   * many bad tokens, the forge is not asked about new tokens. Rejects with SignInUnavailable if the forge must be asked but cannot.
   */
  viewerOf(token: string, mayAskForge?: MayAskForge): Promise<Viewer | undefined>
  /** Returns the owner of a browser session by its secret. */
  viewerInSession(secret: string | undefined): Promise<Viewer | undefined>
  /** Stores when tokens were last used. Called regularly and when the process stops, so that requests need not write. */
  recordUses(): Promise<void>
}

type MayAskForge = () => Promise<boolean>

const always: MayAskForge = async () => true

interface AuthenticatorParts {
  db: Db
  now: () => number
  /** Set if users may sign in with their tokens of the forge. */
  forge?: ForgeSignIn | undefined
}

export function createAuthenticator({ db, now, forge }: AuthenticatorParts): Authenticator {
  let usedAt = new Map<number, number>()

  async function find(token: string, mayAskForge: MayAskForge): Promise<Viewer | undefined> {
    const issuer = mayBeForgeToken(token) ? forge : undefined
    if (!issuer && !looksLikeToken(token)) return undefined
    const findStored = () => findViewer(db, digestOf(token), now())
    const stored = await findStored()
    if (stored || !issuer) return stored
    return (await issuer.isValid(token, await mayAskForge())) ? findStored() : undefined
  }

  /** Validates the forge token of a session again. The browser has the encrypted token, the database the key. */
  async function revalidate(secret: string, { tokenKey }: Session): Promise<Viewer | undefined> {
    return tokenKey === null ? undefined : find(decryptToken(secret, tokenKey), always)
  }

  return {
    async viewerOf(token, mayAskForge = always) {
      const viewer = await find(token, mayAskForge)
      if (viewer) usedAt.set(viewer.tokenId, now())
      return viewer
    },

    async viewerInSession(secret) {
      if (secret === undefined) return undefined
      const session = await findSession(db, secret, now())
      if (!session) return undefined
      const viewer = session.isTokenValid ? session.viewer : await revalidate(secret, session)
      if (viewer) usedAt.set(viewer.tokenId, now())
      return viewer
    },

    async recordUses() {
      if (usedAt.size === 0) return
      const batch = usedAt
      usedAt = new Map()
      await recordTokenUse(db, batch)
    },
  }
}
