import { lazy, Suspense, useEffect, useRef } from 'react'
import styles from './app.module.css'
import { MigrationsPage } from './pages/migrations.tsx'
import { SignInPage } from './pages/sign-in.tsx'
import { Announcements } from './parts/announcements.tsx'
import { Header } from './parts/header.tsx'
import { Loading } from './parts/loading.tsx'
import { PageBoundary } from './parts/page-boundary.tsx'
import { Problem } from './parts/problem.tsx'
import { directoryOf, linksOf, type Place, useHash } from './place.ts'
import { OrganizationContext, type Session, type SignedOutReason, useSession } from './session.tsx'

const NewMigrationPage = lazy(() => import('./pages/new-migration.tsx'))
const MigrationPage = lazy(() => import('./pages/migration.tsx'))
const SchedulesPage = lazy(() => import('./pages/schedules.tsx'))
const NewSchedulePage = lazy(() => import('./pages/new-schedule.tsx'))
const SchedulePage = lazy(() => import('./pages/schedule.tsx'))
const RepositoryPage = lazy(() => import('./pages/repository.tsx'))
const PublicRepositoryPage = lazy(() => import('./pages/public-repository.tsx'))
const WebhooksPage = lazy(() => import('./pages/webhooks.tsx'))
const NewWebhookPage = lazy(() => import('./pages/new-webhook.tsx'))
const WebhookPage = lazy(() => import('./pages/webhook.tsx'))
const ServicePage = lazy(() => import('./pages/service.tsx'))

export function App() {
  const { session, tryAgain } = useSession()
  const hash = useHash()
  const place = directoryOf(hash)
  const main = useRef<HTMLElement>(null)
  useFocusOnArrival(main, session.state, hash)
  return (
    <>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <Header place={place} />
      <main id="main" ref={main} tabIndex={-1} className={styles.main}>
        <PageBoundary at={`${session.state} ${hash}`}>
          {session.state === 'signed-out' && <SignedOut place={place} reason={session.reason} />}
          {session.state === 'checking' && <Loading what="Signing in" />}
          {session.state === 'unreachable' && (
            <Problem failure={session.failure} onRetry={tryAgain} />
          )}
          {session.state === 'signed-in' && (
            <Suspense fallback={<Loading what="Loading" />}>
              <OrganizationContext value={place.org}>
                <PageAt key={place.org} place={place} />
              </OrganizationContext>
            </Suspense>
          )}
        </PageBoundary>
      </main>
      <Announcements />
    </>
  )
}

/** What is public is shown to everyone. */
function SignedOut({ place, reason }: { place: Place; reason: SignedOutReason }) {
  const signIn = <SignInPage reason={reason} />
  if (place.page !== 'repository') return signIn
  const { owner, name } = place
  return (
    <Suspense fallback={<Loading what="Loading" />}>
      <PublicRepositoryPage key={`${owner}/${name}`} owner={owner} name={name} otherwise={signIn} />
    </Suspense>
  )
}

function PageAt({ place }: { place: Place }) {
  switch (place.page) {
    case 'migrations':
      return <MigrationsPage number={place.number} />
    case 'new':
      return <NewMigrationPage />
    case 'migration':
      return <MigrationPage key={place.id} id={place.id} />
    case 'schedules':
      return <SchedulesPage number={place.number} />
    case 'new-schedule':
      return <NewSchedulePage />
    case 'schedule':
      return <SchedulePage key={place.id} id={place.id} />
    case 'repository':
      return (
        <RepositoryPage
          key={`${place.owner}/${place.name}`}
          owner={place.owner}
          name={place.name}
        />
      )
    case 'webhooks':
      return <WebhooksPage />
    case 'new-webhook':
      return <NewWebhookPage />
    case 'webhook':
      return <WebhookPage key={place.id} id={place.id} />
    case 'service':
      return <ServicePage />
    case 'nowhere':
      return (
        <Problem
          failure={{ kind: 'not-found', message: 'This page does not exist.' }}
          back={{ href: linksOf(place.org).migrations(), text: 'All migrations' }}
        />
      )
  }
}

/** Whoever cannot see the page change is brought to where it did: another place, or in from signing in. */
function useFocusOnArrival(
  main: React.RefObject<HTMLElement | null>,
  state: Session['state'],
  hash: string,
): void {
  const last = useRef(hash)
  useEffect(() => {
    // The form to sign in takes the focus itself.
    if (state === 'signed-out') last.current = 'signed-out'
    if (state !== 'signed-in' || last.current === hash) return
    last.current = hash
    main.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [state, hash, main])
}
