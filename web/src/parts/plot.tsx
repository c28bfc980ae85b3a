import { useId } from 'react'
import styles from './plot.module.css'

interface PlotProps {
  /** What it shows, for whoever does not see it. */
  name: string
  unit: string
  /** Oldest first; null where there is nothing to say. */
  buckets: { start: string; value: number | null }[]
  describe(value: number): string
  /** The top of the scale; the largest value where none is given. */
  max?: number
  tone: 'accent' | 'success'
  bucketSeconds: number
}

const WIDTH = 480
const HEIGHT = 140

/** Bars over time, and the same figures as a table. */
export function Plot({ name, unit, buckets, describe, max, tone, bucketSeconds }: PlotProps) {
  const title = useId()
  const top = max ?? Math.max(...buckets.map(({ value }) => value ?? 0))
  const step = WIDTH / Math.max(buckets.length, 1)
  const clock = clockFor(bucketSeconds * buckets.length)
  const [first, last] = [buckets.at(0), buckets.at(-1)]
  const told = buckets.filter(({ value }) => value !== null && value > 0)
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
            buckets.map(({ start, value }, place) => {
              const height = ((value ?? 0) / top) * HEIGHT
              return (
                value !== null &&
                height > 0 && (
                  <rect
                    key={start}
                    x={place * step + step * 0.1}
                    width={step * 0.8}
                    y={HEIGHT - height}
                    height={height}
                  />
                )
              )
            })}
        </svg>
        {told.length === 0 && <span className={styles.nothing}>No data in this period</span>}
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
            {told.map(({ start, value }) => (
              <tr key={start}>
                <th scope="row">{clock(start)}</th>
                <td>{describe(value ?? 0)}</td>
              </tr>
            ))}
            {told.length === 0 && (
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
