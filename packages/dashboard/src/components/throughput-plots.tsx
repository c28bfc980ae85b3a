import { useId } from 'react'
import type { Bucket, ServiceState } from '../api-types.ts'
import { formatBytes, formatCount, formatNumber } from '../quantities.ts'
import { Box } from './box.tsx'
import styles from './throughput-plots.module.css'

/** Plots the bytes written over time, and the share of reused repositories. */
export function ThroughputPlots({ throughput }: { throughput: ServiceState['throughput'] }) {
  const { buckets, bucket_seconds, period } = throughput
  const written = sum(buckets, (each) => each.bytes)
  const exported = sum(buckets, (each) => each.repositories)
  const reused = sum(buckets, (each) => each.reused)
  const past = `in the last ${period}`
  return (
    <div className={styles.plots}>
      <Box
        title="Throughput"
        aside={<span className={styles.total}>{`${formatBytes(written)} written ${past}`}</span>}
      >
        <Plot
          name={`Throughput ${past}: ${formatBytes(written)} written`}
          unit="Bytes written per second"
          buckets={buckets.map(({ start, bytes: count }) => ({
            start,
            value: count / bucket_seconds,
          }))}
          describe={(value) => `${formatBytes(value)}/s`}
          tone="accent"
          bucketSeconds={bucket_seconds}
        />
      </Box>
      <Box
        title="Reuse"
        aside={
          <span className={styles.total}>
            {exported === 0
              ? `no exports ${past}`
              : `${formatNumber(reused)} of ${formatCount(exported, 'repository', 'repositories')}`}
          </span>
        }
      >
        <Plot
          name={`Reuse ${past}: ${reused} of ${exported} repositories were reused`}
          unit="Reused"
          buckets={buckets.map((each) => ({
            start: each.start,
            value: each.repositories === 0 ? null : (each.reused / each.repositories) * 100,
          }))}
          describe={(value) => `${Math.round(value)} %`}
          max={100}
          tone="success"
          bucketSeconds={bucket_seconds}
        />
      </Box>
    </div>
  )
}

const sum = (buckets: Bucket[], of: (bucket: Bucket) => number) =>
  buckets.reduce((total, bucket) => total + of(bucket), 0)

interface PlotProps {
  /** The description for screen readers. */
  name: string
  unit: string
  /** Oldest first. The value is null if there is no data. */
  buckets: { start: string; value: number | null }[]
  describe(value: number): string
  /** The top of the scale; the largest value by default. */
  max?: number
  tone: 'accent' | 'success'
  bucketSeconds: number
}

const WIDTH = 480
const HEIGHT = 140

/** A bar chart over time, and the same values as a table. */
function Plot({ name, unit, buckets, describe, max, tone, bucketSeconds }: PlotProps) {
  const title = useId()
  const top = max ?? Math.max(...buckets.map(({ value }) => value ?? 0))
  const step = WIDTH / Math.max(buckets.length, 1)
  const clock = clockFor(bucketSeconds * buckets.length)
  const [first, last] = [buckets.at(0), buckets.at(-1)]
  const nonEmpty = buckets.filter(({ value }) => value !== null && value > 0)
  return (
    <figure className={styles.figure}>
      <div className={styles.frame}>
        <span className={styles.top}>{top > 0 ? describe(top) : ''}</span>
        <svg
          role="img"
          aria-labelledby={title}
          className={styles.plot}
          data-tone={tone}
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
        >
          <title id={title}>{name}</title>
          {[0, 0.5, 1].map((line) => (
            <line
              key={line}
              className={styles.line}
              x1="0"
              x2={WIDTH}
              y1={HEIGHT * line}
              y2={HEIGHT * line}
            />
          ))}
          {top > 0 &&
            buckets.map(({ start, value }, index) => {
              const height = ((value ?? 0) / top) * HEIGHT
              return (
                value !== null &&
                height > 0 && (
                  <rect
                    key={start}
                    x={index * step + step * 0.1}
                    width={step * 0.8}
                    y={HEIGHT - height}
                    height={height}
                  />
                )
              )
            })}
        </svg>
        {nonEmpty.length === 0 && <span className={styles.nothing}>No data in this period</span>}
      </div>
      <div className={styles.axis}>
        <span>{first && clock(first.start)}</span>
        <span>{last && clock(last.start)}</span>
      </div>
      <details className={styles.table}>
        <summary>Show as table</summary>
        <table>
          <caption>{name}</caption>
          <thead>
            <tr>
              <th scope="col">From</th>
              <th scope="col">{unit}</th>
            </tr>
          </thead>
          <tbody>
            {nonEmpty.map(({ start, value }) => (
              <tr key={start}>
                <th scope="row">{clock(start)}</th>
                <td>{describe(value ?? 0)}</td>
              </tr>
            ))}
            {nonEmpty.length === 0 && (
              <tr>
                <td colSpan={2}>No data in this period</td>
              </tr>
            )}
          </tbody>
        </table>
      </details>
    </figure>
  )
}

const A_DAY = 86_400

function clockFor(seconds: number): (at: string) => string {
  const format = new Intl.DateTimeFormat('en', {
    ...(seconds > A_DAY && { weekday: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  return (at) => format.format(new Date(at))
}
