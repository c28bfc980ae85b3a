import { shortReason } from '@godwit/contract/schemas/describe-outcome'
import { Button, Spinner } from '@primer/react'
import { useEffect, useState } from 'react'
import type { Forecast as StartForecast, StartRequest } from '../api-types.ts'
import { type Failure, failureOf, isAbort } from '../failure.ts'
import { formatBytes, formatCount, formatDuration } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { Box } from './box.tsx'
import styles from './forecast.module.css'

/** An estimate takes time per repository, so one for more repositories is made only on demand. */
const MAX_AT_ONCE = 100
const SETTLE_MS = 400
const MAX_SHOWN = 8

/** The server's estimate for a migration that is not started yet. */
export interface Estimate {
  forecast: StartForecast | undefined
  failure: Failure | undefined
  isLoading: boolean
  /** Makes an estimate that takes some time; undefined if the estimate needs no request. */
  show: (() => void) | undefined
}

/** Estimates a migration. `isReady` is false as long as the request is incomplete. */
export function useEstimate(request: StartRequest, isReady: boolean): Estimate {
  const [wanted, setWanted] = useState<StartRequest>()
  const isAsking = request.repositories.length > MAX_AT_ONCE && wanted !== request
  const estimate = useForecast(request, isReady && !isAsking)
  return { ...estimate, show: isReady && isAsking ? () => setWanted(request) : undefined }
}

interface ForecastProps {
  estimate: Estimate
  request: StartRequest
  isReady: boolean
}

export function Forecast({ estimate, request, isReady }: ForecastProps) {
  const { forecast, failure, isLoading, show } = estimate
  return (
    <Box title="Estimate" aside={isLoading && <Spinner size="small" srText="Estimating" />}>
      <div className={styles.body} aria-live="polite">
        {!isReady && <p className={styles.quiet}>Select repositories to see an estimate.</p>}
        {show && (
          <>
            <p className={styles.quiet}>
              {formatCount(request.repositories.length, 'repository is', 'repositories are')}{' '}
              selected. An estimate takes some time.
            </p>
            <Button onClick={show}>Show estimate</Button>
          </>
        )}
        {isReady && failure && <p className={styles.bad}>{failure.message}</p>}
        {isReady && !failure && forecast && (
          <ForecastDetails forecast={forecast} request={request} />
        )}
        {isReady && isLoading && !forecast && <p className={styles.quiet}>Estimating…</p>}
      </div>
    </Box>
  )
}

/** The estimate in one line, such as `12 MB, about 3 s`. */
export function formatEstimate({ forecast, failure, isLoading }: Estimate): string | undefined {
  if (failure) return 'No estimate'
  if (!forecast) return isLoading ? 'Estimating…' : undefined
  const { bytes_to_write, estimated_seconds } = forecast
  const size = `${formatBytes(bytes_to_write)} to write`
  return estimated_seconds === null ? size : `${size}, ${timeOf(estimated_seconds)}`
}

/** Why a migration would fail, or lack repositories, in one line; undefined if it would not. */
export function formatProblem({ forecast }: Estimate, request: StartRequest): string | undefined {
  if (!forecast) return undefined
  const { skipped, isBeyondQuota, isTight } = problemsOf(forecast)
  if (isBeyondQuota) return 'The archive does not fit into the quota'
  if (isTight) return 'The server does not have enough free space'
  if (skipped.length === 0) return undefined
  const count = formatCount(skipped.length, 'repository', 'repositories')
  const end = request.allow_partial ? 'and will be skipped' : 'so the migration would fail'
  return `${count} cannot be exported, ${end}`
}

function problemsOf({ repositories, bytes_to_write, free_bytes, quota }: StartForecast) {
  const { max_bytes, used_bytes } = quota
  const exported = repositories.filter(({ reason }) => reason === null)
  const needed = exported.reduce((sum, each) => sum + each.bytes, 0)
  return {
    skipped: repositories.filter(({ reason }) => reason !== null),
    isTight: free_bytes !== null && bytes_to_write > free_bytes,
    isBeyondQuota: max_bytes !== null && used_bytes + needed > max_bytes,
  }
}

function ForecastDetails({
  forecast,
  request,
}: {
  forecast: StartForecast
  request: StartRequest
}) {
  const { repositories, bytes_to_write, free_bytes, estimated_seconds, quota } = forecast
  const { skipped, isTight, isBeyondQuota } = problemsOf(forecast)
  const { max_bytes, used_bytes } = quota
  const reused = repositories.filter((each) => each.reused).length
  const whole = repositories.reduce((sum, each) => sum + each.bytes + each.lfs_bytes, 0)
  return (
    <>
      <dl className={styles.figures}>
        <Line name="Total size" value={formatBytes(whole)} />
        <Line name="To write" value={formatBytes(bytes_to_write)} />
        <Line name="Reused (unchanged)" value={`${reused} of ${repositories.length}`} />
        <Line
          name="Free space"
          value={free_bytes === null ? 'unknown' : formatBytes(free_bytes)}
          isBad={isTight}
        />
        {max_bytes !== null && (
          <Line
            name="Quota of archives"
            value={`${formatBytes(used_bytes)} of ${formatBytes(max_bytes)} used`}
            isBad={isBeyondQuota}
          />
        )}
        <Line name="Time" value={timeOf(estimated_seconds)} />
      </dl>
      {isBeyondQuota && (
        <p className={styles.bad}>
          The archive does not fit into the quota. Delete archives that you no longer need.
        </p>
      )}
      {isTight && <p className={styles.bad}>This server does not have enough free space.</p>}
      {skipped.length > 0 && (
        <div className={styles.skipped}>
          <p className={styles.bad}>
            {formatCount(skipped.length, 'repository', 'repositories')} cannot be exported
            {request.allow_partial ? ' and will be skipped:' : ', so the migration would fail:'}
          </p>
          <ul>
            {skipped.slice(0, MAX_SHOWN).map(({ full_name, reason }) => (
              <li key={full_name}>
                <strong>{full_name}</strong>:{' '}
                {shortReason(reason?.replace(`${full_name}: `, '') ?? '')}
              </li>
            ))}
            {skipped.length > MAX_SHOWN && <li>and {skipped.length - MAX_SHOWN} more</li>}
          </ul>
        </div>
      )}
    </>
  )
}

function timeOf(seconds: number | null): string {
  if (seconds === null) return 'unknown'
  return seconds < 1 ? formatDuration(seconds) : `about ${formatDuration(seconds)}`
}

function Line(props: { name: string; value: string; isBad?: boolean }) {
  return (
    <div>
      <dt>{props.name}</dt>
      <dd data-bad={props.isBad ?? false}>{props.value}</dd>
    </div>
  )
}

function useForecast(request: StartRequest, isWanted: boolean) {
  const { api } = useSignedIn()
  const [forecast, setForecast] = useState<StartForecast>()
  const [failure, setFailure] = useState<Failure>()
  const [isLoading, setLoading] = useState(false)
  useEffect(() => {
    const stop = new AbortController()
    setLoading(isWanted)
    // The failure belongs to another selection.
    setFailure(undefined)
    if (!isWanted) {
      setForecast(undefined)
      return
    }
    const timer = setTimeout(async () => {
      try {
        setForecast(await api.forecast(request, stop.signal))
        setLoading(false)
      } catch (error) {
        if (stop.signal.aborted || isAbort(error)) return
        setForecast(undefined)
        setFailure(failureOf(error))
        setLoading(false)
      }
    }, SETTLE_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [api, request, isWanted])
  return { forecast, failure, isLoading }
}
