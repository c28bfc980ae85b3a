import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { type ForgeSignIn, mayBeForgeToken } from './forge-sign-in.ts'
import { findSession, type Session, unsealToken } from './session-store.ts'
import { digestOf, looksLikeToken } from './token.ts'
import { findViewer, recordTokenUse } from './token-store.ts'

export interface Authenticator {
  /**
   * Undefined for whatever is not a valid token now: it is looked up every time, so a revoked one stops at once; one of the forge
   * within a minute. `mayAskNew` says false of who has sent too many bad tokens: the forge is not asked about theirs. Rejects
   * with ForgeUnavailable where only the forge could tell, and does not.
   */
  viewerOf(token: string, mayAskNew?: MayAskNew): Promise<Viewer | undefined>
  /** The same for the secret of a browser's session, if it has one. */
  viewerInSession(secret: string | undefined): Promise<Viewer | undefined>
  /** Writes down when tokens were last used. Called now and then, and once at the end: never on a request's path. */
  noteUses(): Promise<void>
}

type MayAskNew = () => Promise<boolean>

const always: MayAskNew = async () => true

export interface AuthenticatorParts {
  db: Db
  now: () => number
  /** Where people may sign in with their tokens of the forge. */
  forge?: ForgeSignIn | undefined
}

export function createAuthenticator({ db, now, forge }: AuthenticatorParts): Authenticator {
  let used = new Map<number, number>()

  const find = (token: string, mayAskNew: MayAskNew): Promise<Viewer | undefined> =>
    looksLikeToken(token) ? findViewer(db, digestOf(token), now()) : findOfForge(token, mayAskNew)

  async function findOfForge(token: string, mayAskNew: MayAskNew): Promise<Viewer | undefined> {
    if (!forge || !mayBeForgeToken(token)) return undefined
    const known = await findViewer(db, digestOf(token), now())
    if (known) return known
    return (await forge.isGood(token, await mayAskNew()))
      ? findViewer(db, digestOf(token), now())
      : undefined
  }

  /** Only the browser has the token of the forge, and we the key to it. */
  async function askAgain(secret: string, { tokenKey }: Session): Promise<Viewer | undefined> {
    return tokenKey === null ? undefined : find(unsealToken(secret, tokenKey), always)
  }

  return {
    async viewerOf(token, mayAskNew = always) {
      const viewer = await find(token, mayAskNew)
      if (viewer) used.set(viewer.tokenId, now())
      return viewer
    },

    async viewerInSession(secret) {
      if (secret === undefined) return undefined
      const session = await findSession(db, secret, now())
      if (!session) return undefined
      const viewer = session.isTokenValid ? session.viewer : await askAgain(secret, session)
      if (viewer) used.set(viewer.tokenId, now())
      return viewer
    },

    async noteUses() {
      if (used.size === 0) return
      const noted = used
      used = new Map()
      await recordTokenUse(db, noted)
    },
  }
}
