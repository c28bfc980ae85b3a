import { bytes, counted, number } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useAnswer } from '../use-answer.ts'
import type { ServiceState, Token } from '../wire.ts'
import { Moment } from './moment.tsx'
import { OperatorAction } from './operator-action.tsx'
import { outOfDate } from './out-of-date.tsx'
import styles from './service-tables.module.css'
import { Table } from './table.tsx'

/** What waits to be done, by kind. */
export function Queue({ queue }: Pick<ServiceState, 'queue'>) {
  return (
    <Table
      title="Queue"
      columns={['Job', 'Waiting or running', 'Oldest']}
      none="Nothing is waiting."
      rows={queue.kinds.map(({ kind, jobs, oldest_at }) => ({
        key: kind,
        cells: [kind, number(jobs), <Moment key="oldest" at={oldest_at} />],
      }))}
    />
  )
}

interface ActingProps {
  /** Something has changed by it. */
  onDone(): void
}

export function Archives({ archives, onDone }: Pick<ServiceState, 'archives'> & ActingProps) {
  const { api } = useSignedIn()
  return (
    <Table
      title="Largest archives"
      columns={['Migration', 'Account', 'Size', 'Expires', 'Action']}
      none="There is no archive."
      rows={archives.map((each) => ({
        key: each.id,
        cells: [
          number(each.id),
          each.login,
          bytes(each.bytes),
          each.expires_at && <Moment key="expires" at={each.expires_at} />,
          <OperatorAction
            key="delete"
            name="Delete"
            label={`Delete the archive of migration ${each.id}`}
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

/** What `godwit check` found at the source. */
export function Checks({ checks }: Pick<ServiceState, 'checks'>) {
  const { passed, failed, newest_at, problems } = checks
  const note = newest_at !== null && (
    <>
      {number(passed)} passed, {number(failed)} failed; last <Moment at={newest_at} />
    </>
  )
  return (
    <Table
      title="Checks of repositories"
      columns={['Repository', 'Checked', 'Reason']}
      none={
        newest_at === null
          ? 'No repository has been checked: run godwit check.'
          : `${counted(passed, 'repository', 'repositories')} passed.`
      }
      {...(note && { note })}
      rows={problems.map(({ full_name, checked_at, reason }) => ({
        key: full_name,
        cells: [
          full_name,
          <Moment key="checked" at={checked_at} />,
          <div key="reason" className={styles.reason}>
            {reason}
          </div>,
        ],
      }))}
    />
  )
}

const TOKENS_EVERY_MS = 15_000

/** Those that are valid: what was revoked or has expired opens nothing any more. */
export function Tokens() {
  const { api } = useSignedIn()
  const { answer, failure, again } = useAnswer<Token[]>(
    (options) => api.tokens(options),
    'tokens',
    TOKENS_EVERY_MS,
  )
  const valid = answer?.data.filter(
    ({ revoked_at, expires_at }) =>
      revoked_at === null && (expires_at === null || Date.parse(expires_at) > Date.now()),
  )
  return (
    <Table
      title="Tokens"
      columns={['Token', 'Account', 'Expires', 'Last used', 'Action']}
      none={valid ? 'No token is valid.' : (failure?.message ?? 'Loading…')}
      {...(valid && failure && { note: outOfDate(failure) })}
      rows={(valid ?? []).map((each) => ({
        key: each.id,
        cells: [
          `${each.id}${each.name === '' ? '' : ` (${each.name})`}`,
          each.login,
          each.expires_at === null ? 'never' : <Moment key="expires" at={each.expires_at} />,
          each.last_used_at === null ? 'never' : <Moment key="used" at={each.last_used_at} />,
          <OperatorAction
            key="revoke"
            name="Revoke"
            label={`Revoke token ${each.id} of ${each.login}`}
            question={`Revoke token ${each.id} of ${each.login}?`}
            consequence="Whoever uses it is refused at once, and sessions that were opened with it end."
            act={() => api.revokeAny(each.id)}
            onDone={again}
          />,
        ],
      }))}
    />
  )
}
