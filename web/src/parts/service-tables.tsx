import type { ReactNode } from 'react'
import { bytes, counted, inPart, number, percent } from '../quantities.ts'
import type { ServiceState } from '../wire.ts'
import { Bar } from './bar.tsx'
import { Box } from './box.tsx'
import { Moment } from './moment.tsx'
import styles from './service-tables.module.css'

export function Running({ running }: Pick<ServiceState, 'running'>) {
  return (
    <Table
      title="Running exports"
      columns={['Migration', 'Account', 'Started', 'Progress', 'Size so far']}
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
          ],
        }
      })}
    />
  )
}

export function Failures({ failures }: Pick<ServiceState, 'failures'>) {
  return (
    <Table
      title="Recent failures"
      columns={['Migration', 'Account', 'Ended', 'Result', 'Reason']}
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

export function Locks({ locks }: Pick<ServiceState, 'locks'>) {
  const more = locks.held - locks.newest.length
  return (
    <Table
      title="Locks"
      columns={['Repository', 'Migration', 'Account', 'Locked', 'Expires']}
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
        ],
      }))}
    />
  )
}

interface TableProps {
  title: string
  columns: string[]
  rows: { key: string | number; cells: ReactNode[] }[]
  /** What to say where there are no rows. */
  none: string
  note?: string
}

function Table({ title, columns, rows, none, note }: TableProps) {
  return (
    <Box title={title} aside={note && <span className={styles.quiet}>{note}</span>}>
      {rows.length === 0 ? (
        <p className={styles.none}>{none}</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
        <section className={styles.scroll} aria-label={`${title}: the table`} tabIndex={0}>
          <table className={styles.table}>
            <thead>
              <tr>
                {columns.map((column) => (
                  <th key={column} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map(({ key, cells }) => (
                <tr key={key}>
                  {cells.map((cell, place) => (
                    <td key={columns[place]}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Box>
  )
}
