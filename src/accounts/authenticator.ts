import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { type ForgeSignIn, mayBeForgeToken } from './forge-sign-in.ts'
import { decryptToken, findSession, type Session } from './session-store.ts'
import { digestOf, findViewer, looksLikeToken, recordTokenUse } from './token-store.ts'

export interface Authenticator {
  /**
   * Returns the owner of a token, or undefined if it is not valid. Tokens are looked up every time, so a revoked one stops working at
   * once, and one that the forge revoked within a minute. If `mayAskForge` returns false, because the caller has sent too many bad
   * tokens, the forge is not asked about new tokens. Rejects with ForgeUnavailable if only the forge knows the token.
   */
  viewerOf(token: string, mayAskForge?: MayAskForge): Promise<Viewer | undefined>
  /** Returns the owner of a browser session by its secret. */
  viewerInSession(secret: string | undefined): Promise<Viewer | undefined>
  /** Records when tokens were last used. Called regularly and at the end, never by a request. */
  recordUses(): Promise<void>
}

type MayAskForge = () => Promise<boolean>

const always: MayAskForge = async () => true

export interface AuthenticatorParts {
  db: Db
  now: () => number
  /** Set if users may sign in with their tokens of the forge. */
  forge?: ForgeSignIn | undefined
}

export function createAuthenticator({ db, now, forge }: AuthenticatorParts): Authenticator {
  let usedAt = new Map<number, number>()

  const find = (token: string, mayAskForge: MayAskForge): Promise<Viewer | undefined> =>
    looksLikeToken(token)
      ? findViewer(db, digestOf(token), now())
      : findForgeViewer(token, mayAskForge)

  async function findForgeViewer(
    token: string,
    mayAskForge: MayAskForge,
  ): Promise<Viewer | undefined> {
    if (!forge || !mayBeForgeToken(token)) return undefined
    const known = await findViewer(db, digestOf(token), now())
    if (known) return known
    return (await forge.isGood(token, await mayAskForge()))
      ? findViewer(db, digestOf(token), now())
      : undefined
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
