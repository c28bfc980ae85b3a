import { Button, SegmentedControl } from '@primer/react'
import { useState } from 'react'
import type { Period, ServiceState } from '../api-types.ts'
import { Loading } from '../components/loading.tsx'
import { Moment } from '../components/moment.tsx'
import { OutOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import { ServiceFigures } from '../components/service-figures.tsx'
import {
  Archives,
  Checks,
  Failures,
  Locks,
  Queue,
  Running,
  Tokens,
  Workers,
} from '../components/service-tables.tsx'
import { ThroughputPlots } from '../components/throughput-plots.tsx'
import { useFilters } from '../routes.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import styles from './service.module.css'

const EVERY_MS = 5000
const PERIODS: { period: Period; name: string }[] = [
  { period: 'hour', name: 'Hour' },
  { period: 'day', name: 'Day' },
  { period: 'week', name: 'Week' },
]

/** The state of the whole service, for its operator. */
export default function ServicePage() {
  const { api, to } = useSignedIn()
  const [filters, setFilters] = useFilters({ period: 'hour' })
  const { period } = PERIODS.find((each) => each.period === filters.period) ?? PERIODS[0]!
  const { response, failure, refresh } = useResource<ServiceState>(
    (options) => api.service(period, options),
    period,
    EVERY_MS,
  )
  const [last, setLast] = useState<ServiceState>()
  const now = response?.data ?? last
  if (response && response.data !== last) setLast(response.data)
  if (!now) {
    const back = { href: to.migrations(), text: 'Migrations' }
    if (failure) return <Problem failure={failure} onRetry={refresh} back={back} />
    return <Loading what="Loading the service" />
  }
  return (
    <>
      <PageHead
        title="Service"
        about={
          <>
            Godwit {now.version}, as of <Moment at={now.observed_at} />
          </>
        }
        actions={
          <>
            <Button as="a" href={to.audit()}>
              Audit log
            </Button>
            <SegmentedControl
              aria-label="Period of the plots"
              onChange={(index) => setFilters({ period: PERIODS[index]!.period })}
            >
              {PERIODS.map((each) => (
                <SegmentedControl.Button key={each.period} selected={each.period === period}>
                  {each.name}
                </SegmentedControl.Button>
              ))}
            </SegmentedControl>
          </>
        }
      />
      {failure && <OutOfDate failure={failure} />}
      <div className={styles.sections}>
        <ServiceFigures service={now} />
        <ThroughputPlots throughput={now.throughput} />
        <Running running={now.running} onDone={refresh} />
        <Queue queue={now.queue} />
        <Failures failures={now.failures} onDone={refresh} />
        <Checks checks={now.checks} />
        <Locks locks={now.locks} onDone={refresh} />
        <Archives archives={now.archives} onDone={refresh} />
        <Tokens />
        <Workers workers={now.workers} />
      </div>
    </>
  )
}
