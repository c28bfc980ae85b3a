import { PlusIcon } from '@primer/octicons-react'
import { Banner, Button } from '@primer/react'
import type { FullRepository, LockWithMigration, Summary } from '../api-types.ts'
import { Box } from '../components/box.tsx'
import { CopyCurl, curl } from '../components/copy-curl.tsx'
import { Loading, LoadingRows } from '../components/loading.tsx'
import { MigrationRow } from '../components/migration-row.tsx'
import { Moment } from '../components/moment.tsx'
import { OutOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import { RepositoryAbout, VisibilityLabel } from '../components/repository-about.tsx'
import { goTo, linksOf } from '../routes.ts'
import { OrganizationContext, useSession, useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import { selectRepository } from '../use-selection.ts'
import styles from './repository.module.css'

const EVERY_MS = 30_000

/** A repository with its migrations and its lock. */
export default function RepositoryPage({ owner, name }: { owner: string; name: string }) {
  const { api, mediaType, user, to } = useSignedIn()
  const org = useOwnedOrganization(owner)
  const requestedName = `${owner}/${name}`
  const { response, failure, refresh } = useResource<FullRepository>(
    (options) => api.repository(requestedName, options),
    requestedName,
    EVERY_MS,
  )
  const back = { href: to.migrations(), text: 'Migrations' }
  if (!response && failure) {
    const message = `${requestedName} does not exist, or you may not read it.`
    return failure.kind === 'not-found' ? (
      <Problem failure={{ ...failure, message }} back={back} />
    ) : (
      <Problem failure={failure} onRetry={refresh} back={back} />
    )
  }
  if (!response) return <Loading what={`Loading ${requestedName}`} />
  const repository = response.data
  const fullName = repository.full_name
  return (
    <>
      <PageHead
        title={fullName}
        back={back}
        mark={<VisibilityLabel repository={repository} />}
        about={repository.description || 'No description.'}
        actions={
          <>
            {repository.permissions.admin && (
              <Button
                variant="primary"
                leadingVisual={PlusIcon}
                onClick={() => {
                  selectRepository({ login: user.login, org }, fullName)
                  goTo(linksOf(org).new())
                }}
              >
                New migration
              </Button>
            )}
            <CopyCurl
              commands={[
                { name: 'Repository', command: curl(mediaType, { path: `/repos/${fullName}` }) },
              ]}
            />
          </>
        }
      />
      {failure && <OutOfDate failure={failure} />}
      <div className={styles.sections}>
        <LockNotice fullName={fullName} />
        <RepositoryAbout api={api} repository={repository} />
        <MigrationsOfRepository fullName={fullName} org={org} />
      </div>
    </>
  )
}

/** Why pushes are refused, for owners and administrators. */
function LockNotice({ fullName }: { fullName: string }) {
  const { api } = useSignedIn()
  const { response } = useResource<LockWithMigration[]>(
    (options) => api.ownLocks(options),
    'locks',
    EVERY_MS,
  )
  const locks = response?.data.filter((lock) => lock.full_name === fullName) ?? []
  if (locks.length === 0) return null
  return (
    <div role="status">
      <Banner
        variant="warning"
        title="This repository is locked"
        description={
          <ul>
            {locks.map((lock) => (
              <li key={lock.migration_id}>
                Migration {lock.migration_id} of {lock.login} locks this repository, so pushes are
                refused. The lock expires <Moment at={lock.expires_at} />.
              </li>
            ))}
          </ul>
        }
      />
    </div>
  )
}

/** Returns the organization of that name if the user owns it. */
function useOwnedOrganization(name: string): string | undefined {
  const { session } = useSession()
  const all = session.state === 'signed-in' ? session.organizations : []
  return all.find((each) => each.toLowerCase() === name.toLowerCase())
}

/** The user's migrations of the repository, and those of its organization if the user owns it. */
function MigrationsOfRepository({ fullName, org }: { fullName: string; org: string | undefined }) {
  return (
    <>
      <OrganizationContext value={undefined}>
        <MigrationList title="Your migrations" fullName={fullName} />
      </OrganizationContext>
      {org !== undefined && (
        <OrganizationContext value={org}>
          <MigrationList title={`Migrations of ${org}`} fullName={fullName} />
        </OrganizationContext>
      )}
    </>
  )
}

function MigrationList({ title, fullName }: { title: string; fullName: string }) {
  const { api } = useSignedIn()
  const { response, failure, refresh } = useResource<Summary[]>(
    (options) => api.summariesOf(fullName, options),
    `${title} ${fullName}`,
    EVERY_MS,
  )
  return (
    <Box title={title}>
      {!response && failure && <Problem isPart failure={failure} onRetry={refresh} />}
      {!response && !failure && <LoadingRows what="Loading migrations" />}
      {response?.data.length === 0 && (
        <p className={styles.none}>No recent migration contains this repository.</p>
      )}
      {response && response.data.length > 0 && (
        <ul>
          {response.data.map((each) => (
            <MigrationRow key={each.id} migration={each} />
          ))}
        </ul>
      )}
    </Box>
  )
}
