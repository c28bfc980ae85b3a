import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { viewerInSession } from './session-store.ts'
import { digestOf, looksLikeToken } from './token.ts'
import { findViewer, noteTokenUse } from './token-store.ts'

export interface Authenticator {
  /** Undefined for whatever is not a valid token now: it is looked up every time, so a revoked one stops at once. */
  viewerOf(token: string): Promise<Viewer | undefined>
  /** The same for the secret of a browser's session. */
  viewerInSession(secret: string): Promise<Viewer | undefined>
  /** Writes down when tokens were last used. Called now and then, and once at the end: never on a request's path. */
  noteUses(): Promise<void>
}

export function createAuthenticator({ db, now }: { db: Db; now: () => number }): Authenticator {
  let used = new Map<number, number>()

  return {
    async viewerOf(token) {
      if (!looksLikeToken(token)) return
      const at = now()
      const viewer = await findViewer(db, digestOf(token), at)
      if (viewer) used.set(viewer.tokenId, at)
      return viewer
    },

    async viewerInSession(secret) {
      const at = now()
      const viewer = await viewerInSession(db, secret, at)
      if (viewer) used.set(viewer.tokenId, at)
      return viewer
    },

    async noteUses() {
      if (used.size === 0) return
      const noted = used
      used = new Map()
      await noteTokenUse(db, noted)
    },
  }
}
