import type { Db } from '../db/connect.ts'
import type { Viewer } from './account.ts'
import { digestOf, looksLikeToken } from './token.ts'
import { findViewer, noteTokenUse } from './token-store.ts'

const REMEMBERED_MS = 1000
const MOST_REMEMBERED = 10_000

export interface Authenticator {
  /** Undefined for whatever is not a valid token now, or was not one within the last second. */
  viewerOf(token: string): Promise<Viewer | undefined>
  /** Writes down when tokens were last used. Called now and then, and once at the end: never on a request's path. */
  noteUses(): Promise<void>
}

export function createAuthenticator({ db, now }: { db: Db; now: () => number }): Authenticator {
  const remembered = new Map<string, { viewer: Viewer; at: number }>()
  let used = new Map<number, number>()

  return {
    async viewerOf(token) {
      if (!looksLikeToken(token)) return undefined
      const digest = digestOf(token)
      const at = now()
      let known = remembered.get(digest)
      if (!known || at - known.at >= REMEMBERED_MS) {
        const viewer = await findViewer(db, digest, at)
        remembered.delete(digest)
        if (!viewer) return undefined
        if (remembered.size >= MOST_REMEMBERED) remembered.clear()
        known = { viewer, at }
        remembered.set(digest, known)
      }
      used.set(known.viewer.tokenId, at)
      return known.viewer
    },

    async noteUses() {
      if (used.size === 0) return
      const noted = used
      used = new Map()
      await noteTokenUse(db, noted)
    },
  }
}
