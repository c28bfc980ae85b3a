import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { pathsOf } from '../../src/client/paths.ts'
import {
  type Api,
  type ApiOf,
  closeSession,
  createApi,
  currentSession,
  openSession,
  readRoot,
} from './api.ts'
import { type Failure, failureOf, isAbort } from './failure.ts'
import { type Links, linksOf } from './routes.ts'
import type { User } from './wire.ts'

/** The local storage key that remembers that this browser was signed in. Scripts cannot read the session cookie. */
const SIGNED_IN = 'godwit.signed-in'

export type SignedOutReason = 'never' | 'left' | 'refused' | 'expired'

export type Session =
  | { state: 'signed-out'; reason: SignedOutReason }
  | { state: 'checking' }
  | { state: 'unreachable'; failure: Failure }
  | {
      state: 'signed-in'
      user: User
      /** Logins of the organizations that the user owns. */
      organizations: string[]
      apiOf: ApiOf
      mediaType: string
    }

interface SessionControls {
  session: Session
  signIn(token: string): void
  signOut(options: { all: boolean }): void
  tryAgain(): void
}

const SessionContext = createContext<SessionControls | null>(null)

/** An attempt to find the current session (without a token) or to open one with a token. */
type Attempt = { token: string | null }

export function SessionProvider({ children }: { children: ReactNode }) {
  const [attempt, setAttempt] = useState<Attempt | null>({ token: null })
  const [session, setSession] = useState<Session>({ state: 'checking' })

  useEffect(() => {
    if (attempt === null) return
    const stop = new AbortController()
    setSession({ state: 'checking' })
    const close = (reason: SignedOutReason) => {
      localStorage.removeItem(SIGNED_IN)
      setAttempt(null)
      setSession({ state: 'signed-out', reason })
    }
    findSession(attempt, stop.signal, close).then(
      (found) => {
        if (stop.signal.aborted) return
        if (found.state === 'signed-in') localStorage.setItem(SIGNED_IN, 'yes')
        setSession(found)
      },
      (error) => {
        const failure = failureOf(error)
        if (stop.signal.aborted || isAbort(error)) return
        if (failure.kind === 'unauthorized') return close('refused')
        setSession({ state: 'unreachable', failure })
      },
    )
    return () => stop.abort()
  }, [attempt])

  const controls = useMemo<SessionControls>(
    () => ({
      session,
      signIn: (token) => setAttempt({ token }),
      signOut(options) {
        localStorage.removeItem(SIGNED_IN)
        sessionStorage.clear()
        setAttempt(null)
        closeSession(options).then(
          () => setSession({ state: 'signed-out', reason: 'left' }),
          (error) => setSession({ state: 'unreachable', failure: failureOf(error) }),
        )
      },
      tryAgain: () => setAttempt((last) => ({ token: last?.token ?? null })),
    }),
    [session],
  )
  return <SessionContext value={controls}>{children}</SessionContext>
}

async function findSession(
  { token }: Attempt,
  signal: AbortSignal,
  onClosed: (reason: SignedOutReason) => void,
): Promise<Session> {
  const user = await (token === null ? currentSession(signal) : openSession(token, signal))
  if (!user) {
    const wasSignedIn = localStorage.getItem(SIGNED_IN) !== null
    localStorage.removeItem(SIGNED_IN)
    return { state: 'signed-out', reason: wasSignedIn ? 'expired' : 'never' }
  }
  const { media_type: mediaType } = await readRoot()
  const apiOf = createApi(mediaType, () => {
    if (!signal.aborted) onClosed('expired')
  })
  const organizations = await apiOf().ownedOrganizations(signal)
  return { state: 'signed-in', user, organizations, apiOf, mediaType }
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

/** Returns the session on pages that need one. */
export function useSignedIn(): SignedIn {
  const { session } = useSession()
  const org = useContext(OrganizationContext)
  if (session.state !== 'signed-in') throw new Error('nobody is signed in')
  const { user, mediaType, apiOf } = session
  return { user, mediaType, org, api: apiOf(org), to: linksOf(org), path: pathsOf(org).migrations }
}
