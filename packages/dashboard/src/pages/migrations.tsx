import { PackageIcon, PlusIcon } from '@primer/octicons-react'
import { Banner, Button } from '@primer/react'
import { Blankslate } from '@primer/react/experimental'
import {
  isUnfinished,
  type LockWithMigration,
  type Quota,
  type Repository,
  type Summary,
} from '../api-types.ts'
import { Box } from '../components/box.tsx'
import { CopyCurl, curl } from '../components/copy-curl.tsx'
import { ListPages } from '../components/list-pages.tsx'
import { LoadingRows } from '../components/loading.tsx'
import { MigrationRow } from '../components/migration-row.tsx'
import { Moment } from '../components/moment.tsx'
import { NoRepositories } from '../components/no-repositories.tsx'
import { OutOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import { formatBytes, formatCount } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import styles from './migrations.module.css'

const PER_PAGE = 25
const WHILE_SOMETHING_MOVES_MS = 3000
const OTHERWISE_MS = 15_000

export function MigrationsPage({ number }: { number: number }) {
  const { api, mediaType, org, to, path } = useSignedIn()
  const { response, failure, refresh } = useResource<Summary[]>(
    (options) => api.summaries({ ...options, page: number, perPage: PER_PAGE }),
    String(number),
    (all) =>
      all.some(({ state }) => isUnfinished(state)) ? WHILE_SOMETHING_MOVES_MS : OTHERWISE_MS,
  )
  const isEmpty = response?.data.length === 0 && number === 1
  return (
    <>
      <PageHead
        title={org === undefined ? 'Migrations' : `Migrations of ${org}`}
        about={`A migration exports ${org === undefined ? 'your repositories' : `repositories of ${org}`} into one archive.`}
        actions={
          <>
            <Button as="a" href={to.new()} variant="primary" leadingVisual={PlusIcon}>
              New migration
            </Button>
            <CopyCurl
              commands={[{ name: 'List migrations', command: curl(mediaType, { path }) }]}
            />
          </>
        }
      />
      {failure && response && <OutOfDate failure={failure} />}
      {org === undefined && <LocksOfOthers />}
      <QuotaUse />
      {!response && failure && <Problem isPart failure={failure} onRetry={refresh} />}
      {!response && !failure && (
        <div className={styles.frame}>
          <LoadingRows what="Loading migrations" />
        </div>
      )}
      {isEmpty && <NoneYet />}
      {response && response.data.length > 0 && (
        <Box title={formatCount(response.total, 'migration')}>
          <ul>
            {response.data.map((each) => (
              <MigrationRow key={each.id} migration={each} />
            ))}
          </ul>
        </Box>
      )}
      {response && (
        <ListPages response={response} number={number} perPage={PER_PAGE} linkTo={to.migrations} />
      )}
    </>
  )
}

/** What the archives use of the quota, if there is one. */
function QuotaUse() {
  const { api } = useSignedIn()
  const { response } = useResource<Quota>((options) => api.quota(options), 'quota', OTHERWISE_MS)
  if (!response || response.data.max_bytes === null) return null
  const { max_bytes, used_bytes } = response.data
  return (
    <p role="status">
      Archives use {formatBytes(used_bytes)} of {formatBytes(max_bytes)}.
    </p>
  )
}

/** Says what to do first: get repositories, then start a migration. */
function NoneYet() {
  const { api, to } = useSignedIn()
  const { response, failure } = useResource<Repository[]>(
    (options) => api.repositories({ ...options, q: '', page: 1, perPage: 1 }),
    'any',
    EVERY_MS,
  )
  if (!response && !failure) return <LoadingRows what="Loading repositories" rows={1} />
  if (response?.total === 0)
    return (
      <div className={styles.frame}>
        <NoRepositories />
      </div>
    )
  const found = response && formatCount(response.total, 'repository', 'repositories')
  return (
    <Blankslate border spacious>
      <Blankslate.Visual>
        <PackageIcon size="medium" />
      </Blankslate.Visual>
      <Blankslate.Heading>No migrations yet</Blankslate.Heading>
      <Blankslate.Description>
        {found && `You can export ${found}. `}
        Select repositories, start the migration, and download the archive when it is ready. You can
        restore it with git, or import it into GitHub, Gitea or Forgejo.
      </Blankslate.Description>
      <Blankslate.PrimaryAction href={to.new()}>Start a migration</Blankslate.PrimaryAction>
    </Blankslate>
  )
}

const EVERY_MS = 30_000
const MAX_SHOWN = 5

/** Lists the user's repositories that a migration of another account locks, so that their pushes are refused. */
function LocksOfOthers() {
  const { api, user } = useSignedIn()
  const { response } = useResource<LockWithMigration[]>(
    (options) => api.ownLocks(options),
    'locks',
    EVERY_MS,
  )
  const others = response?.data.filter(({ login }) => login !== user.login) ?? []
  if (others.length === 0) return null
  return (
    <div role="status" className={styles.notice}>
      <Banner
        variant="warning"
        title="Some of your repositories are locked by others"
        description={
          <ul>
            {others.slice(0, MAX_SHOWN).map((lock) => (
              <li key={`${lock.migration_id} ${lock.full_name}`}>
                <strong>{lock.full_name}</strong> is locked by migration {lock.migration_id} of{' '}
                {lock.login}: pushes are refused. The lock expires <Moment at={lock.expires_at} />.
              </li>
            ))}
            {others.length > MAX_SHOWN && <li>and {others.length - MAX_SHOWN} more</li>}
          </ul>
        }
      />
    </div>
  )
}
