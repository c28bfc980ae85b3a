import type { ReactNode } from 'react'
import type { ServiceState } from '../api-types.ts'
import { formatBytes, formatCount, formatNumber } from '../quantities.ts'
import { Moment } from './moment.tsx'
import styles from './service-figures.module.css'

export function ServiceFigures({ service }: { service: ServiceState }) {
  const { migrations, queue, storage, locks, workers } = service
  const alive = workers.filter((worker) => worker.alive)
  const jobs = alive.reduce((sum, { running_jobs }) => sum + running_jobs, 0)
  const slots = alive.reduce((sum, { concurrency }) => sum + concurrency, 0)
  return (
    <dl className={styles.figures}>
      <Figure
        name="Running exports"
        value={formatNumber(migrations.exporting)}
        more={`${formatNumber(migrations.pending)} pending`}
      />
      <Figure
        name="Queue"
        value={formatCount(queue.jobs, 'job')}
        more={
          queue.oldest_at === null ? (
            'Nothing is waiting'
          ) : (
            <>
              Oldest: <Moment at={queue.oldest_at} />
            </>
          )
        }
      />
      <Figure
        name="Workers"
        value={formatNumber(alive.length)}
        more={`${formatNumber(jobs)} of ${formatNumber(slots)} jobs running`}
        isBad={alive.length === 0}
      />
      <Figure
        name="Storage used"
        value={formatBytes(storage.used_bytes)}
        more={
          <>
            {formatCount(storage.archives, 'archive')} {formatBytes(storage.archive_bytes)},
            reusable {formatBytes(storage.reuse_bytes)}, temporary{' '}
            {formatBytes(storage.scratch_bytes)}
            {storage.free_bytes !== null && `; ${formatBytes(storage.free_bytes)} free`}
          </>
        }
      />
      <Figure
        name="Locks"
        value={formatNumber(locks.held)}
        more={locks.held === 0 ? 'No repository is locked' : 'Locked repositories refuse pushes'}
      />
      <Figure
        name="Exported so far"
        value={formatNumber(migrations.exported)}
        more={`${formatNumber(migrations.failed)} failed, ${formatNumber(migrations.cancelled)} cancelled`}
      />
    </dl>
  )
}

function Figure(props: { name: string; value: string; more: ReactNode; isBad?: boolean }) {
  return (
    <div className={styles.figure}>
      <dt>{props.name}</dt>
      <dd className={styles.value} data-bad={props.isBad ?? false}>
        {props.value}
      </dd>
      <dd className={styles.more}>{props.more}</dd>
    </div>
  )
}
