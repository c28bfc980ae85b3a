import type { ServiceState, Token } from '../api-types.ts'
import { formatBytes, formatCount, formatCounts, formatNumber, percent } from '../quantities.ts'
import { linksOf } from '../routes.ts'
import { useLinks, useSession, useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import { Bar } from './bar.tsx'
import { ConfirmedAction } from './confirmed-action.tsx'
import { Moment } from './moment.tsx'
import { outOfDate } from './out-of-date.tsx'
import { Reason } from './repository-row.tsx'
import styles from './service-tables.module.css'
import { Table } from './table.tsx'

interface MigrationCellProps {
  id: number
  login: string
  /** The type of the account, if it is known. */
  type?: 'User' | 'Organization'
}

/** The number of a migration, with a link unless it is of another person: nobody else can open such a migration. */
function MigrationCell({ id, login, type }: MigrationCellProps) {
  const { user } = useSignedIn()
  const { session } = useSession()
  const isOwned = session.state === 'signed-in' && session.organizations.includes(login)
  if (type === 'Organization' || isOwned) return <a href={linksOf(login).migration(id)}>{id}</a>
  return login === user.login ? <a href={linksOf(undefined).migration(id)}>{id}</a> : id
}

function AccountLink({ login }: { login: string }) {
  const to = useLinks()
  return <a href={to.owner(login)}>{login}</a>
}

function RepositoryLink({ fullName }: { fullName: string }) {
  const to = useLinks()
  return <a href={to.repository(fullName)}>{fullName}</a>
}

interface ActionProps {
  /** Called after the action. */
  onDone(): void
}

export function Running({ running, onDone }: Pick<ServiceState, 'running'> & ActionProps) {
  const { api } = useSignedIn()
  return (
    <Table
      title="Running exports"
      columns={['Migration', 'Account', 'Started', 'Progress', 'Size so far', 'Action']}
      emptyText="No exports are running."
      rows={running.map((each) => {
        const { total, remaining } = each.repositories
        return {
          key: each.id,
          cells: [
            <MigrationCell key="id" id={each.id} login={each.login} type={each.owner_type} />,
            <AccountLink key="account" login={each.login} />,
            <Moment key="started" at={each.started_at ?? each.created_at} />,
            <div key="progress" className={styles.progress}>
              <Bar
                label={`Migration ${each.id}: repositories done`}
                percent={percent(total - remaining, total)}
                tone="accent"
              />
              {formatCounts(each.repositories)}
            </div>,
            formatBytes(each.bytes_done),
            <ConfirmedAction
              key="cancel"
              name="Cancel"
              object={`migration ${each.id}`}
              question={`Cancel migration ${each.id} of ${each.login}?`}
              confirmName="Cancel migration"
              consequence="Its locks are released. Repositories exported so far are kept for a retry."
              act={() => api.cancelAny(each.id)}
              onDone={onDone}
            />,
          ],
        }
      })}
    />
  )
}

export function Failures({ failures, onDone }: Pick<ServiceState, 'failures'> & ActionProps) {
  const { api } = useSignedIn()
  return (
    <Table
      title="Recent failures"
      columns={['Migration', 'Account', 'Ended', 'Result', 'Reason', 'Action']}
      emptyText="No recent failures."
      rows={failures.map((each) => ({
        key: each.id,
        cells: [
          <MigrationCell key="id" id={each.id} login={each.login} type={each.owner_type} />,
          <AccountLink key="account" login={each.login} />,
          each.ended_at && <Moment key="ended" at={each.ended_at} />,
          <Result key="result" failure={each} />,
          <div key="reason" className={styles.reason}>
            {each.repositories.length === 0 && each.reason}
            {each.repositories.map(({ full_name, reason }) => (
              <div key={full_name}>
                <RepositoryLink fullName={full_name} />
                <div className={styles.quiet}>
                  <Reason reason={reason} />
                </div>
              </div>
            ))}
          </div>,
          <ConfirmedAction
            key="retry"
            name="Retry"
            object={`migration ${each.id}`}
            question={`Retry migration ${each.id} of ${each.login}?`}
            consequence="A new migration of the same account starts, with the same repositories and options. Unchanged repositories are reused."
            act={() => api.retryAny(each.id)}
            onDone={onDone}
            isDanger={false}
          />,
        ],
      }))}
    />
  )
}

/** A migration that failed, or that is partial. */
function Result({ failure }: { failure: ServiceState['failures'][number] }) {
  if (failure.state === 'failed') return <span className={styles.bad}>Failed</span>
  return <span className={styles.warning}>{formatCounts(failure.counts)}</span>
}

const ROLES = { all: 'API and exporter', api: 'API', worker: 'exporter' }

export function Workers({ workers }: Pick<ServiceState, 'workers'>) {
  return (
    <Table
      title="Workers"
      columns={['Process', 'Role', 'Busy', 'Started', 'Last seen']}
      emptyText="No workers are running."
      rows={workers.map((each) => ({
        key: each.id,
        cells: [
          <span key="process">
            {each.host} <span className={styles.quiet}>{each.pid}</span>
          </span>,
          `${ROLES[each.role]}, ${each.version}`,
          each.role === 'api'
            ? '—'
            : `${formatNumber(each.running_jobs)} of ${formatNumber(each.concurrency)}`,
          <Moment key="started" at={each.started_at} />,
          each.alive ? (
            <Moment key="seen" at={each.seen_at} />
          ) : (
            <span key="seen" className={styles.bad}>
              not seen since <Moment at={each.seen_at} />
            </span>
          ),
        ],
      }))}
    />
  )
}

export function Locks({ locks, onDone }: Pick<ServiceState, 'locks'> & ActionProps) {
  const { api } = useSignedIn()
  const more = locks.held - locks.newest.length
  return (
    <Table
      title="Locks"
      columns={['Repository', 'Migration', 'Account', 'Locked', 'Expires', 'Action']}
      emptyText="No repositories are locked."
      {...(more > 0 && { note: `and ${formatCount(more, 'older one')}` })}
      rows={locks.newest.map((each) => ({
        key: `${each.migration_id} ${each.full_name}`,
        cells: [
          <RepositoryLink key="repository" fullName={each.full_name} />,
          <MigrationCell key="id" id={each.migration_id} login={each.login} />,
          <AccountLink key="account" login={each.login} />,
          <Moment key="locked" at={each.locked_at} />,
          <Moment key="expires" at={each.expires_at} />,
          <ConfirmedAction
            key="release"
            name="Release"
            object={`the locks of ${each.full_name}`}
            question={`Release the locks of ${each.full_name}?`}
            consequence="It accepts pushes again. Existing archives do not contain what is pushed from now on."
            act={() => api.releaseAny(each.full_name)}
            onDone={onDone}
          />,
        ],
      }))}
    />
  )
}

/** The waiting and running jobs, by kind. */
export function Queue({ queue }: Pick<ServiceState, 'queue'>) {
  return (
    <Table
      title="Queue"
      columns={['Job', 'Waiting or running', 'Oldest']}
      emptyText="Nothing is waiting."
      rows={queue.kinds.map(({ kind, jobs, oldest_at }) => ({
        key: kind,
        cells: [kind, formatNumber(jobs), <Moment key="oldest" at={oldest_at} />],
      }))}
    />
  )
}

export function Archives({ archives, onDone }: Pick<ServiceState, 'archives'> & ActionProps) {
  const { api } = useSignedIn()
  return (
    <Table
      title="Largest archives"
      columns={['Migration', 'Account', 'Size', 'Expires', 'Action']}
      emptyText="No archives."
      rows={archives.map((each) => ({
        key: each.id,
        cells: [
          <MigrationCell key="id" id={each.id} login={each.login} type={each.owner_type} />,
          <AccountLink key="account" login={each.login} />,
          formatBytes(each.bytes),
          each.expires_at && <Moment key="expires" at={each.expires_at} />,
          <ConfirmedAction
            key="delete"
            name="Delete"
            object={`the archive of migration ${each.id}`}
            question={`Delete the archive of migration ${each.id} of ${each.login}?`}
            consequence="It can no longer be downloaded. The migration stays in the list of its account."
            act={() => api.deleteAnyArchive(each.id)}
            onDone={onDone}
          />,
        ],
      }))}
    />
  )
}

/** The results of `godwit check`, and of exports that failed. */
export function Checks({ checks }: Pick<ServiceState, 'checks'>) {
  const { passed, failed, newest_at, problems } = checks
  const note = newest_at !== null && (
    <>
      {formatNumber(passed)} passed, {formatNumber(failed)} failed; last <Moment at={newest_at} />
    </>
  )
  return (
    <Table
      title="Repository checks"
      columns={['Repository', 'Checked', 'Reason']}
      emptyText={
        newest_at === null
          ? 'No repository was checked yet. Run godwit check.'
          : `${formatCount(passed, 'repository', 'repositories')} passed.`
      }
      {...(note && { note })}
      rows={problems.map(({ full_name, checked_at, reason }) => ({
        key: full_name,
        cells: [
          <RepositoryLink key="repository" fullName={full_name} />,
          <Moment key="checked" at={checked_at} />,
          <div key="reason" className={styles.reason}>
            <Reason reason={reason} />
          </div>,
        ],
      }))}
    />
  )
}

const TOKENS_EVERY_MS = 15_000

export const formatLimits = ({ read_only, organization }: Token): string =>
  [read_only && 'read-only', organization !== null && `only ${organization}`]
    .filter(Boolean)
    .join(', ') || 'none'

export function LastUse({ token: { last_used_at, last_used_ip } }: { token: Token }) {
  if (last_used_at === null) return 'never'
  return (
    <span>
      <Moment at={last_used_at} />
      {last_used_ip !== null && ` from ${last_used_ip}`}
    </span>
  )
}

/** The valid tokens. */
export function Tokens() {
  const { api } = useSignedIn()
  const { response, failure, refresh } = useResource<Token[]>(
    (options) => api.tokens(options),
    'tokens',
    TOKENS_EVERY_MS,
  )
  const valid = response?.data.filter(
    ({ revoked_at, expires_at }) =>
      revoked_at === null && (expires_at === null || Date.parse(expires_at) > Date.now()),
  )
  return (
    <Table
      title="Tokens"
      columns={['Token', 'Account', 'Limits', 'Expires', 'Last used', 'Action']}
      emptyText={valid ? 'No valid tokens.' : (failure?.message ?? 'Loading…')}
      {...(valid && failure && { note: outOfDate(failure) })}
      rows={(valid ?? []).map((each) => ({
        key: each.id,
        cells: [
          `${each.id}${each.name === '' ? '' : ` (${each.name})`}`,
          <AccountLink key="account" login={each.login} />,
          formatLimits(each),
          each.expires_at === null ? 'never' : <Moment key="expires" at={each.expires_at} />,
          <LastUse key="used" token={each} />,
          <ConfirmedAction
            key="revoke"
            name="Revoke"
            object={`token ${each.id} of ${each.login}`}
            question={`Revoke token ${each.id} of ${each.login}?`}
            consequence="Requests with this token are refused at once, and sessions that were opened with it end."
            act={() => api.revokeAny(each.id)}
            onDone={refresh}
          />,
        ],
      }))}
    />
  )
}
