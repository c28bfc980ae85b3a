import type { Db } from '../db/database.ts'
import { type Soon, soon } from '../db/soon.ts'
import type { Viewer } from './account.ts'
import { digestOf, looksLikeToken } from './token.ts'
import { findViewer, noteTokenUse } from './token-store.ts'

export interface Authenticator {
  /** Undefined for whatever is not a valid token now: it is looked up every time, so a revoked one stops at once. */
  viewerOf(token: string): Soon<Viewer | undefined>
  /** The same by the digest of a token that was valid before. */
  viewerByDigest(digest: string): Soon<Viewer | undefined>
  /** Writes down when tokens were last used. Called now and then, and once at the end: never on a request's path. */
  noteUses(): Promise<void>
}

export function createAuthenticator({ db, now }: { db: Db; now: () => number }): Authenticator {
  let used = new Map<number, number>()

  function viewerByDigest(digest: string): Soon<Viewer | undefined> {
    const at = now()
    return soon(findViewer(db, digest, at), (viewer) => {
      if (viewer) used.set(viewer.tokenId, at)
      return viewer
    })
  }

  return {
    viewerOf: (token) => (looksLikeToken(token) ? viewerByDigest(digestOf(token)) : undefined),
    viewerByDigest,

    async noteUses() {
      if (used.size === 0) return
      const noted = used
      used = new Map()
      await noteTokenUse(db, noted)
    },
  }
}
