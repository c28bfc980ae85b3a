import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { type ForgeSignIn, mayBeForgeToken } from './forge-sign-in.ts'
import { decryptToken, findSession, type Session } from './session-store.ts'
import { digestOf, findViewerByDigest, isGodwitToken, recordTokenUse } from './token-store.ts'

export interface Authenticator {
  /**
   * Returns the owner of a token, or undefined if it is not valid. A token that was revoked here stops working at once, a token that
   * was revoked on the forge after at most a minute. `mayCheckNew` resolves to false if the caller has sent too many bad tokens: then
   * tokens that the forge has never accepted are rejected. Rejects with SignInUnavailable if the forge must check the token but cannot.
   */
  viewerOf(token: string, mayCheckNew?: MayCheckNew): Promise<Viewer | undefined>
  /** Returns the owner of a browser session by its secret. */
  viewerInSession(secret: string | undefined): Promise<Viewer | undefined>
  /** Stores when tokens were last used. Called regularly and when the process stops, so that requests need not write. */
  recordUses(): Promise<void>
}

type MayCheckNew = () => Promise<boolean>

const always: MayCheckNew = async () => true

interface AuthenticatorParts {
  db: Db
  now: () => number
  /** Set if users may sign in with their tokens of the forge. */
  forge?: ForgeSignIn | undefined
}

export function createAuthenticator({ db, now, forge }: AuthenticatorParts): Authenticator {
  let usedAt = new Map<number, number>()

  async function find(token: string, mayCheckNew: MayCheckNew): Promise<Viewer | undefined> {
    const issuer = mayBeForgeToken(token) ? forge : undefined
    if (!issuer && !isGodwitToken(token)) return undefined
    const findStored = () => findViewerByDigest(db, digestOf(token), now())
    const stored = await findStored()
    if (stored || !issuer) return stored
    const isAccepted = await issuer.checkToken(token, { mayCheckNew: await mayCheckNew() })
    return isAccepted ? findStored() : undefined
  }

  /** Validates the forge token of a session again. The browser has the encrypted token, the database the key. */
  async function revalidate(secret: string, { tokenKey }: Session): Promise<Viewer | undefined> {
    return tokenKey === null ? undefined : find(decryptToken(secret, tokenKey), always)
  }

  return {
    async viewerOf(token, mayCheckNew = always) {
      const viewer = await find(token, mayCheckNew)
      if (viewer) usedAt.set(viewer.tokenId, now())
      return viewer
    },

    async viewerInSession(secret) {
      if (secret === undefined) return undefined
      const session = await findSession(db, secret, now())
      if (!session) return undefined
      const viewer = session.isTokenValid ? session.viewer : await revalidate(secret, session)
      if (viewer) usedAt.set(viewer.tokenId, now())
      return viewer && { ...viewer, session: session.viewer.session }
    },

    async recordUses() {
      if (usedAt.size === 0) return
      const batch = usedAt
      usedAt = new Map()
      await recordTokenUse(db, batch)
    },
  }
}
