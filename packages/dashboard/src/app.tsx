import { Component, lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { readRoot } from './api.ts'
import styles from './app.module.css'
import { Announcements } from './components/announcements.tsx'
import { Header } from './components/header.tsx'
import { Loading } from './components/loading.tsx'
import { Problem } from './components/problem.tsx'
import { type Failure, failureOf } from './failure.ts'
import { MigrationsPage } from './pages/migrations.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { linksOf, parseHash, type Route, useHash } from './routes.ts'
import { OrganizationContext, type Session, type SignedOutReason, useSession } from './session.tsx'

const NewMigrationPage = lazy(() => import('./pages/new-migration.tsx'))
const MigrationPage = lazy(() => import('./pages/migration.tsx'))
const SchedulesPage = lazy(() => import('./pages/schedules.tsx'))
const NewSchedulePage = lazy(() => import('./pages/new-schedule.tsx'))
const SchedulePage = lazy(() => import('./pages/schedule.tsx'))
const RepositoryPage = lazy(() => import('./pages/repository.tsx'))
const OwnerPage = lazy(() => import('./pages/owner.tsx'))
const PublicRepositoryPage = lazy(() => import('./pages/public-repository.tsx'))
const WebhooksPage = lazy(() => import('./pages/webhooks.tsx'))
const NewWebhookPage = lazy(() => import('./pages/new-webhook.tsx'))
const WebhookPage = lazy(() => import('./pages/webhook.tsx'))
const TokensPage = lazy(() => import('./pages/tokens.tsx'))
const AuditPage = lazy(() => import('./pages/audit.tsx'))
const ServicePage = lazy(() => import('./pages/service.tsx'))

export function App() {
  const { session, tryAgain } = useSession()
  const hash = useHash()
  const route = parseHash(hash)
  const main = useRef<HTMLElement>(null)
  useFocusOnArrival(main, session.state, hash)
  return (
    <>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Header route={route} />
      <main id="main" ref={main} tabIndex={-1} className={styles.main}>
        <PageBoundary at={`${session.state} ${hash}`}>
          {session.state === 'signed-out' && <SignedOut route={route} reason={session.reason} />}
          {session.state === 'checking' && <Loading what="Signing in" />}
          {session.state === 'unreachable' && (
            <Problem failure={session.failure} onRetry={tryAgain} />
          )}
          {session.state === 'signed-in' && (
            <Suspense fallback={<Loading what="Loading" />}>
              <OrganizationContext value={route.org}>
                <PageAt key={`${session.user.login} ${route.org ?? ''}`} route={route} />
              </OrganizationContext>
            </Suspense>
          )}
        </PageBoundary>
      </main>
      <Announcements />
    </>
  )
}

/** Shows public repositories and their owners to visitors who are not signed in. */
function SignedOut({ route, reason }: { route: Route; reason: SignedOutReason }) {
  const signIn = <SignInPage reason={reason} />
  if (route.page !== 'repository' && route.page !== 'owner') return signIn
  return (
    <Suspense fallback={<Loading what="Loading" />}>
      {route.page === 'owner' ? (
        <OwnerPage key={route.login} login={route.login} otherwise={signIn} />
      ) : (
        <PublicRepositoryPage
          key={`${route.owner}/${route.name}`}
          owner={route.owner}
          name={route.name}
          otherwise={signIn}
        />
      )}
    </Suspense>
  )
}

function PageAt({ route }: { route: Route }) {
  switch (route.page) {
    case 'migrations':
      return <MigrationsPage number={route.number} />
    case 'new':
      return <NewMigrationPage key={route.owner} owner={route.owner} />
    case 'migration':
      return <MigrationPage key={route.id} id={route.id} />
    case 'schedules':
      return <SchedulesPage number={route.number} />
    case 'new-schedule':
      return <NewSchedulePage />
    case 'schedule':
      return <SchedulePage key={route.id} id={route.id} />
    case 'repository':
      return (
        <RepositoryPage
          key={`${route.owner}/${route.name}`}
          owner={route.owner}
          name={route.name}
        />
      )
    case 'owner':
      return <OwnerPage key={route.login} login={route.login} />
    case 'webhooks':
      return <WebhooksPage />
    case 'new-webhook':
      return <NewWebhookPage />
    case 'webhook':
      return <WebhookPage key={route.id} id={route.id} />
    case 'tokens':
      return <TokensPage />
    case 'audit':
      return <AuditPage />
    case 'service':
      return <ServicePage />
    case 'not-found':
      return (
        <Problem
          failure={{ kind: 'not-found', message: 'This page does not exist.' }}
          back={{ href: linksOf(route.org).migrations(), text: 'All migrations' }}
        />
      )
  }
}

/** Moves the focus to the content after navigation or sign-in, for screen readers. */
function useFocusOnArrival(
  main: React.RefObject<HTMLElement | null>,
  state: Session['state'],
  hash: string,
): void {
  const last = useRef(hash)
  useEffect(() => {
    // The sign-in form takes the focus itself.
    if (state === 'signed-out') last.current = 'signed-out'
    if (state !== 'signed-in' || last.current === hash) return
    last.current = hash
    main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [state, hash, main])
}

interface PageBoundaryProps {
  /** The page and the state of the session. A change renders the children again after an error. */
  at: string
  children: ReactNode
}

/** Shows a message instead of a page that throws. In React, only a class component can catch errors. */
class PageBoundary extends Component<PageBoundaryProps, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override componentDidUpdate({ at }: PageBoundaryProps): void {
    if (at !== this.props.at && this.state.hasFailed) this.setState({ hasFailed: false })
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children
    return <NotShown />
  }
}

const NOT_SHOWN: Failure = {
  kind: 'broken',
  message: 'This page cannot be shown. If the server was upgraded, reload the page.',
}

/**
 * Says why a page cannot be shown: its file is loaded at the first visit, so that a missing connection has the same effect as an upgrade.
 */
function NotShown() {
  const [failure, setFailure] = useState<Failure>()
  const [attempts, setAttempts] = useState(0)
  useEffect(() => {
    readRoot().then(
      // The browser has kept the error of the file, so only a reload loads it again.
      () => (attempts === 0 ? setFailure(NOT_SHOWN) : location.reload()),
      (error) => setFailure(failureOf(error)),
    )
  }, [attempts])
  if (!failure) return <Loading what="Loading" />
  const isBroken = failure === NOT_SHOWN
  return (
    <Problem
      failure={failure}
      retryName={isBroken ? 'Reload' : 'Try again'}
      onRetry={() => (isBroken ? location.reload() : setAttempts(attempts + 1))}
    />
  )
}
