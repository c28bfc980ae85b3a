import { pathsOf } from '@godwit/contract/client/paths'
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import {
  type Api,
  type ApiOf,
  closeSession,
  createApi,
  currentSession,
  openSession,
  readRoot,
} from './api.ts'
import type { User } from './api-types.ts'
import { type Failure, failureOf, isAbort } from './failure.ts'
import { goTo, type Links, linksOf } from './routes.ts'

/** The local storage key of the login that is signed in in this browser. All tabs share the session cookie, which scripts cannot read. */
const SIGNED_IN = 'godwit.signed-in'

export type SignedOutReason = 'never' | 'left' | 'refused' | 'mistyped' | 'expired'

export type Session =
  | { state: 'signed-out'; reason: SignedOutReason }
  | { state: 'checking' }
  /** `signOut` is the sign-out that failed, while the session is still open. */
  | { state: 'unreachable'; failure: Failure; signOut?: SignOutOptions }
  | {
      state: 'signed-in'
      user: User
      /** The only organization in which the session is valid; null for all. */
      only: string | null
      /** Until when the session may create and revoke tokens; null if it may not. */
      tokensManagedUntil: string | null
      /** Logins of the organizations that the user owns. */
      organizations: string[]
      apiOf: ApiOf
      mediaType: string
    }

interface SignOutOptions {
  all: boolean
}

interface SessionControls {
  session: Session
  signIn(token: string): void
  signOut(options: SignOutOptions): void
  tryAgain(): void
}

const SessionContext = createContext<SessionControls | null>(null)

/** An attempt to find the current session (without a token) or to open one with a token. The page stays meanwhile if `isQuiet`. */
type Attempt = { token: string | null; isQuiet?: boolean }

export function SessionProvider({ children }: { children: ReactNode }) {
  const [attempt, setAttempt] = useState<Attempt | null>({ token: null })
  const [session, setSession] = useState<Session>({ state: 'checking' })

  useEffect(() => {
    if (attempt === null) return
    const stop = new AbortController()
    if (!attempt.isQuiet) setSession({ state: 'checking' })
    const close = (reason: SignedOutReason) => {
      localStorage.removeItem(SIGNED_IN)
      setAttempt(null)
      setSession({ state: 'signed-out', reason })
    }
    findSession(attempt, stop.signal, close).then(
      (found) => {
        if (stop.signal.aborted) return
        setSession(found)
      },
      (error) => {
        const failure = failureOf(error)
        if (stop.signal.aborted || isAbort(error)) return
        if (failure.kind === 'unauthorized')
          return close(failure.message.includes('mistyped') ? 'mistyped' : 'refused')
        setSession({ state: 'unreachable', failure })
      },
    )
    return () => stop.abort()
  }, [attempt])

  useEffect(() => {
    // Another tab has signed in or out: the requests of this one would act for the account of that tab.
    const onStorage = ({ key, newValue }: StorageEvent) => {
      if (key === null || (key === SIGNED_IN && newValue !== loginOf(session)))
        setAttempt({ token: null, isQuiet: true })
    }
    addEventListener('storage', onStorage)
    return () => removeEventListener('storage', onStorage)
  }, [session])

  const controls = useMemo<SessionControls>(() => {
    function signOut(options: SignOutOptions): void {
      sessionStorage.clear()
      setAttempt(null)
      // The pages end their requests, which would be refused after the sign-out.
      setSession({ state: 'checking' })
      closeSession(options).then(
        () => {
          // Other tabs read their session again when this is removed.
          localStorage.removeItem(SIGNED_IN)
          setSession({ state: 'signed-out', reason: 'left' })
        },
        (error) => setSession(notSignedOut(failureOf(error), options)),
      )
    }
    return {
      session,
      signIn: (token) => setAttempt({ token }),
      signOut,
      tryAgain() {
        const failed = session.state === 'unreachable' ? session.signOut : undefined
        if (failed) signOut(failed)
        else setAttempt((last) => ({ token: last?.token ?? null }))
      },
    }
  }, [session])
  return <SessionContext value={controls}>{children}</SessionContext>
}

/**
 * The state after a failed sign-out, which the user can repeat, unless the server refuses it: then only the way back to the session is
 * left.
 */
function notSignedOut(failure: Failure, options: SignOutOptions): Session {
  const message = `You are not signed out yet. ${failure.message}`
  const isRefused = failure.kind === 'refused'
  const shown = { ...failure, message }
  return { state: 'unreachable', failure: shown, ...(!isRefused && { signOut: options }) }
}

/** Returns the login of the session, null if nobody is signed in, and undefined if it is unknown. */
function loginOf(session: Session): string | null | undefined {
  if (session.state === 'signed-in') return session.user.login
  return session.state === 'signed-out' ? null : undefined
}

async function findSession(
  { token }: Attempt,
  signal: AbortSignal,
  onClosed: (reason: SignedOutReason) => void,
): Promise<Session> {
  const opened = await (token === null ? currentSession(signal) : openSession(token, signal))
  const { user, organization: only = null, tokens_managed_until = null } = opened
  if (!user) {
    const wasSignedIn = localStorage.getItem(SIGNED_IN) !== null
    localStorage.removeItem(SIGNED_IN)
    return { state: 'signed-out', reason: wasSignedIn ? 'expired' : 'never' }
  }
  localStorage.setItem(SIGNED_IN, user.login)
  const { media_type: mediaType } = await readRoot()
  const apiOf = createApi(mediaType, () => {
    if (!signal.aborted) onClosed('expired')
  })
  const organizations = await apiOf().ownedOrganizations(signal)
  // The user's own pages are closed to a session of one organization.
  if (only !== null && /^#?\/?$/.test(location.hash)) goTo(linksOf(only).migrations())
  const tokensManagedUntil = tokens_managed_until
  return { state: 'signed-in', user, only, tokensManagedUntil, organizations, apiOf, mediaType }
}

export function useSession(): SessionControls {
  const controls = useContext(SessionContext)
  if (!controls) throw new Error('no session here')
  return controls
}

/** The organization whose migrations are shown; undefined for the user's own. */
export const OrganizationContext = createContext<string | undefined>(undefined)

interface SignedIn {
  user: User
  mediaType: string
  org: string | undefined
  /** The API for the resources of `org`, or for the user's own. */
  api: Api
  to: Links
  /** The API path of the migrations, for the curl commands. */
  path: string
}

/** Returns links to the pages of the selected organization, or to the user's own. */
export const useLinks = (): Links => linksOf(useContext(OrganizationContext))

/** Returns the session on pages that need one. */
export function useSignedIn(): SignedIn {
  const { session } = useSession()
  const org = useContext(OrganizationContext)
  if (session.state !== 'signed-in') throw new Error('nobody is signed in')
  const { user, mediaType, apiOf } = session
  return { user, mediaType, org, api: apiOf(org), to: linksOf(org), path: pathsOf(org).migrations }
}
