import { bytes, counted, inPart, number, percent } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import type { ServiceState } from '../wire.ts'
import { Bar } from './bar.tsx'
import { Moment } from './moment.tsx'
import { OperatorAction } from './operator-action.tsx'
import styles from './service-tables.module.css'
import { Table } from './table.tsx'

interface ActingProps {
  /** Something has changed by it. */
  onDone(): void
}

export function Running({ running, onDone }: Pick<ServiceState, 'running'> & ActingProps) {
  const { api } = useSignedIn()
  return (
    <Table
      title="Running exports"
      columns={['Migration', 'Account', 'Started', 'Progress', 'Size so far', 'Action']}
      none="No export is running."
      rows={running.map((each) => {
        const { total, remaining } = each.repositories
        return {
          key: each.id,
          cells: [
            number(each.id),
            each.login,
            <Moment key="started" at={each.started_at ?? each.created_at} />,
            <div key="progress" className={styles.progress}>
              <Bar
                label={`Migration ${each.id}: repositories done`}
                percent={percent(total - remaining, total)}
                tone="accent"
              />
              {inPart(each.repositories)}
            </div>,
            bytes(each.bytes_done),
            <OperatorAction
              key="cancel"
              name="Cancel"
              label={`Cancel migration ${each.id}`}
              question={`Cancel migration ${each.id} of ${each.login}?`}
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

export function Failures({ failures, onDone }: Pick<ServiceState, 'failures'> & ActingProps) {
  const { api } = useSignedIn()
  return (
    <Table
      title="Recent failures"
      columns={['Migration', 'Account', 'Ended', 'Result', 'Reason', 'Action']}
      none="No recent failures."
      rows={failures.map((each) => ({
        key: each.id,
        cells: [
          number(each.id),
          each.login,
          each.ended_at && <Moment key="ended" at={each.ended_at} />,
          <Result key="result" failure={each} />,
          <div key="reason" className={styles.reason}>
            {each.repositories.length === 0 && each.reason}
            {each.repositories.map(({ full_name, reason }) => (
              <div key={full_name}>
                {full_name}: <span className={styles.quiet}>{reason}</span>
              </div>
            ))}
          </div>,
          <OperatorAction
            key="retry"
            name="Retry"
            label={`Retry migration ${each.id}`}
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

/** Failed, or exported without some of its repositories. */
function Result({ failure }: { failure: ServiceState['failures'][number] }) {
  if (failure.state === 'failed') return <span className={styles.bad}>failed</span>
  return <span className={styles.warning}>{inPart(failure.counts)}</span>
}

const ROLES = { all: 'API and exporter', api: 'API', worker: 'exporter' }

export function Workers({ workers }: Pick<ServiceState, 'workers'>) {
  return (
    <Table
      title="Workers"
      columns={['Process', 'Role', 'Busy', 'Started', 'Last seen']}
      none="No worker is running."
      rows={workers.map((each) => ({
        key: each.id,
        cells: [
          <span key="process">
            {each.host} <span className={styles.quiet}>{each.pid}</span>
          </span>,
          `${ROLES[each.role]}, ${each.version}`,
          each.role === 'api' ? '—' : `${number(each.running_jobs)} of ${number(each.concurrency)}`,
          <Moment key="started" at={each.started_at} />,
          each.alive ? (
            <Moment key="seen" at={each.seen_at} />
          ) : (
            <span key="seen" className={styles.bad}>
              gone since <Moment at={each.seen_at} />
            </span>
          ),
        ],
      }))}
    />
  )
}

export function Locks({ locks, onDone }: Pick<ServiceState, 'locks'> & ActingProps) {
  const { api } = useSignedIn()
  const more = locks.held - locks.newest.length
  return (
    <Table
      title="Locks"
      columns={['Repository', 'Migration', 'Account', 'Locked', 'Expires', 'Action']}
      none="No repository is locked."
      {...(more > 0 && { note: `and ${counted(more, 'older one')}` })}
      rows={locks.newest.map((each) => ({
        key: `${each.migration_id} ${each.full_name}`,
        cells: [
          each.full_name,
          number(each.migration_id),
          each.login,
          <Moment key="locked" at={each.locked_at} />,
          <Moment key="expires" at={each.expires_at} />,
          <OperatorAction
            key="release"
            name="Release"
            label={`Release the locks of ${each.full_name}`}
            question={`Release the locks of ${each.full_name}?`}
            consequence="It accepts pushes again. What is pushed is not in archives that were made before."
            act={() => api.releaseAny(each.full_name)}
            onDone={onDone}
          />,
        ],
      }))}
    />
  )
}
