import { PackageIcon, PlusIcon } from '@primer/octicons-react'
import { Banner, Button } from '@primer/react'
import { Blankslate } from '@primer/react/experimental'
import { Box } from '../parts/box.tsx'
import { CopyCurl, curl } from '../parts/copy-curl.tsx'
import { ListPages } from '../parts/list-pages.tsx'
import { LoadingRows } from '../parts/loading.tsx'
import { MigrationRow } from '../parts/migration-row.tsx'
import { Moment } from '../parts/moment.tsx'
import { OutOfDate } from '../parts/out-of-date.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { Problem } from '../parts/problem.tsx'
import { formatCount } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import { isUnfinished, type LockWithMigration, type Summary } from '../wire.ts'
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
            <CopyCurl
              commands={[{ name: 'List migrations', command: curl(mediaType, { path }) }]}
            />
            <Button as="a" href={to.new()} variant="primary" leadingVisual={PlusIcon}>
              New migration
            </Button>
          </>
        }
      />
      {failure && response && <OutOfDate failure={failure} />}
      {org === undefined && <LocksOfOthers />}
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

function NoneYet() {
  const { to } = useSignedIn()
  return (
    <Blankslate border spacious>
      <Blankslate.Visual>
        <PackageIcon size="medium" />
      </Blankslate.Visual>
      <Blankslate.Heading>No migrations yet</Blankslate.Heading>
      <Blankslate.Description>
        A migration exports a verified snapshot of the repositories you select into one archive,
        which git, tar and importers understand.
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
        title="Repositories of yours are locked by others"
        description={
          <ul>
            {others.slice(0, MAX_SHOWN).map((lock) => (
              <li key={`${lock.migration_id} ${lock.full_name}`}>
                <strong>{lock.full_name}</strong> is locked by migration {lock.migration_id} of{' '}
                {lock.login} and refuses pushes. The lock expires <Moment at={lock.expires_at} />.
              </li>
            ))}
            {others.length > MAX_SHOWN && <li>and {others.length - MAX_SHOWN} more</li>}
          </ul>
        }
      />
    </div>
  )
}
