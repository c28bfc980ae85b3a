import { isIP } from 'node:net'
import type { Db } from '../db/database.ts'
import type { Viewer } from './account.ts'
import { type ForgeSignIn, ForgeTokenRefused, isCurrent, mayBeForgeToken } from './forge-sign-in.ts'
import { decryptToken, findSession, type Session } from './session-store.ts'
import * as tokenStore from './token-store.ts'

export interface Authenticator {
  /**
   * Returns the owner of a token, or undefined if it is not valid. A token that was revoked here stops working at once, a token that
   * was revoked on the forge after at most a minute. `mayCheckNew` resolves to false if the caller has sent too many bad tokens: then
   * tokens that the forge has never accepted are rejected. Rejects with SignInUnavailable if the forge must check the token but cannot,
   * and with ForgeTokenRefused if the forge lets the token read less than its owner.
   */
  viewerOf(token: string, ip?: string, mayCheckNew?: MayCheckNew): Promise<Viewer | undefined>
  /** A session ends when its token is refused. */
  viewerInSession(secret: string | undefined, ip?: string): Promise<Viewer | undefined>
  /**
   * Stores when and from which address tokens were last used. It is called regularly and when the process stops, so that requests
   * need not write.
   */
  recordUses(): Promise<void>
}

type MayCheckNew = () => Promise<boolean>

const always: MayCheckNew = async () => true

interface AuthenticatorDependencies {
  db: Db
  now: () => number
  /** Set if users may sign in with their tokens of the forge. */
  forge?: ForgeSignIn | undefined
  /** Called when an expired token of Godwit is used, at most once a day for each token. */
  onExpired?(viewer: Viewer, ip: string): Promise<void>
}

function undefinedIfTokenRefused(error: unknown): undefined {
  if (!(error instanceof ForgeTokenRefused)) throw error
}

const DAY_MS = 24 * 60 * 60_000

export function createAuthenticator(dependencies: AuthenticatorDependencies): Authenticator {
  const { db, now, forge, onExpired } = dependencies
  let uses = new Map<number, tokenStore.TokenUse>()
  let reported = { day: 0, tokenIds: new Set<number>() }

  /** Remembers the use until the next `recordUses`. */
  function noteUse(viewer: Viewer | undefined, ip: string): void {
    if (viewer) uses.set(viewer.tokenId, { at: now(), ip: isIP(ip) ? ip : null })
  }

  async function reportExpired(viewer: Viewer, ip: string): Promise<void> {
    const day = Math.floor(now() / DAY_MS)
    if (reported.day !== day) reported = { day, tokenIds: new Set() }
    if (reported.tokenIds.has(viewer.tokenId)) return
    reported.tokenIds.add(viewer.tokenId)
    await onExpired?.(viewer, ip)
  }

  async function findViewer(token: string, ip: string, mayCheckNew: MayCheckNew) {
    const issuer = mayBeForgeToken(token) ? forge : undefined
    if (!issuer && !tokenStore.isGodwitToken(token)) return undefined
    const find = () => tokenStore.findTokenByDigest(db, { digest: tokenStore.digestOf(token) })
    let found = await find()
    // Tokens of the forge expire after a minute, and are then checked again.
    if (issuer && !(found && isCurrent(found.expiresAt, now()))) {
      const isAccepted = await issuer.checkToken(token, { mayCheckNew: await mayCheckNew() })
      found = isAccepted ? await find() : undefined
    }
    if (!found || found.expiresAt > now()) return found?.viewer
    if (!issuer) await reportExpired(found.viewer, ip)
    return undefined
  }

  /** Validates the token of a session. Of a token of the forge, the browser has the encrypted text and the database the key. */
  async function viewerOfSession(secret: string, { tokenKey, isTokenValid, viewer }: Session) {
    if (tokenKey !== null)
      return findViewer(decryptToken(secret, tokenKey), '', always).catch(undefinedIfTokenRefused)
    return isTokenValid ? viewer : undefined
  }

  return {
    async viewerOf(token, ip = '', mayCheckNew = always) {
      const viewer = await findViewer(token, ip, mayCheckNew)
      noteUse(viewer, ip)
      return viewer
    },

    async viewerInSession(secret, ip = '') {
      if (secret === undefined) return undefined
      const session = await findSession(db, secret, now())
      if (!session) return undefined
      const viewer = await viewerOfSession(secret, session)
      noteUse(viewer, ip)
      return viewer && { ...viewer, session: session.viewer.session }
    },

    async recordUses() {
      if (uses.size === 0) return
      const batch = uses
      uses = new Map()
      await tokenStore.recordTokenUse(db, batch).catch((error: unknown) => {
        uses = new Map([...batch, ...uses])
        throw error
      })
    },
  }
}
