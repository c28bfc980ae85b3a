import { bytes, counted, number } from '../quantities.ts'
import type { Bucket, ServiceState } from '../wire.ts'
import { Box } from './box.tsx'
import { Plot } from './plot.tsx'
import styles from './throughput-plots.module.css'

/** How much went out, and how much of it cost nothing because it was unchanged. */
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
        aside={<span className={styles.total}>{`${bytes(written)} written ${past}`}</span>}
      >
        <Plot
          name={`Throughput ${past}: ${bytes(written)} written`}
          unit="Bytes written per second"
          buckets={buckets.map(({ start, bytes: count }) => ({
            start,
            value: count / bucket_seconds,
          }))}
          describe={(value) => `${bytes(value)}/s`}
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
              : `${number(reused)} of ${counted(exported, 'repository', 'repositories')}`}
          </span>
        }
      >
        <Plot
          name={`Reuse ${past}: ${reused} of ${exported} repositories were reused`}
          unit="Unchanged"
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
