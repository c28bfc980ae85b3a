import { createContext, type ReactNode, useContext, useEffect, useMemo, useState } from 'react'
import { type Api, createApi, mediaTypeOf } from './api.ts'
import { type Failure, failureOf, isAbort } from './failure.ts'
import type { User } from './wire.ts'

/** In the tab's own storage, and nowhere else: it is gone when the tab is. */
const TOKEN_KEY = 'godwit.token'

export type Session =
  | { state: 'signed-out'; reason: 'never' | 'left' | 'refused' | 'expired' }
  | { state: 'checking' }
  | { state: 'unreachable'; failure: Failure }
  | { state: 'signed-in'; user: User; api: Api; mediaType: string }

interface SessionControls {
  session: Session
  signIn(token: string): void
  signOut(): void
  tryAgain(): void
}

const SessionContext = createContext<SessionControls | null>(null)

export function SessionProvider({ children }: { children: ReactNode }) {
  const [token, setToken] = useState(() => sessionStorage.getItem(TOKEN_KEY))
  const [attempt, setAttempt] = useState(0)
  const [session, setSession] = useState<Session>(
    token === null ? { state: 'signed-out', reason: 'never' } : { state: 'checking' },
  )

  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt asks the same again
  useEffect(() => {
    if (token === null) return
    const stop = new AbortController()
    setSession({ state: 'checking' })
    openSession(token, stop.signal, (reason) => {
      sessionStorage.removeItem(TOKEN_KEY)
      setToken(null)
      setSession({ state: 'signed-out', reason })
    }).then(
      (opened) => {
        if (stop.signal.aborted) return
        sessionStorage.setItem(TOKEN_KEY, token)
        setSession(opened)
      },
      (error) => {
        const failure = failureOf(error)
        if (stop.signal.aborted || isAbort(error) || failure.kind === 'unauthorized') return
        setSession({ state: 'unreachable', failure })
      },
    )
    return () => stop.abort()
  }, [token, attempt])

  const controls = useMemo<SessionControls>(
    () => ({
      session,
      signIn: setToken,
      signOut() {
        sessionStorage.removeItem(TOKEN_KEY)
        setToken(null)
        setSession({ state: 'signed-out', reason: 'left' })
      },
      tryAgain: () => setAttempt((n) => n + 1),
    }),
    [session],
  )
  return <SessionContext value={controls}>{children}</SessionContext>
}

async function openSession(
  token: string,
  signal: AbortSignal,
  onClosed: (reason: 'refused' | 'expired') => void,
): Promise<Session> {
  const wasKept = sessionStorage.getItem(TOKEN_KEY) !== null
  let wasOpen = wasKept
  const mediaType = await mediaTypeOf()
  const api = createApi(token, mediaType, () => {
    if (!signal.aborted) onClosed(wasOpen ? 'expired' : 'refused')
  })
  const user = await api.user({ signal })
  wasOpen = true
  return { state: 'signed-in', user, api, mediaType }
}

export function useSession(): SessionControls {
  const controls = useContext(SessionContext)
  if (!controls) throw new Error('no session here')
  return controls
}

/** For pages that are shown only to whoever is signed in. */
export function useSignedIn(): Extract<Session, { state: 'signed-in' }> {
  const { session } = useSession()
  if (session.state !== 'signed-in') throw new Error('nobody is signed in')
  return session
}
