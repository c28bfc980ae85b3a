/** The part of a repository's progress that estimates are made from. Times are epoch milliseconds. */
export interface RepositoryWork {
  /** Null until its export has ended. */
  finishedAt: number | null
  bytesDone: number
  bytesExpected: number
  /** When the export of its git data began. */
  packingSince: number | null
  /** When progress of its git data was last recorded. */
  progressAt?: number | null
  /** Null if its records are not exported, or not begun. */
  records: RecordsWork | null
}

interface RecordsWork {
  done: number
  expected: number
  startedAt: number
  progressAt?: number | null
  finishedAt: number | null
  waitingUntil: number | null
}

/** One part of the work on a repository: its records, counted in issues and pull requests, or its git data, in bytes. */
interface Step {
  since: number | null
  /** When it last advanced. */
  progressAt: number | null
  until: number | null
  done: number
  expected: number
}

/** A repository or migration that makes no progress for so long is stalled: how long it will take is unknown. */
export const STALLED_MS = 2 * 60_000
/** So does one without any progress that takes many times as long as predicted, and more than this. */
const OVERDUE = { factor: 3, ms: 5000 }

const MIN_ELAPSED_MS = 2000
const MIN_FINISHED = 5
const MIN_FRACTION = 0.05
/** The largest repositories are exported first, so the latest ones are the most similar to those that remain. */
const LATEST = 20

/**
 * Estimates the time until all repositories are exported. `startedAt` is when the export of the migration began. Returns null if too
 * little is done, if only records were read so far, or while the forge accepts no requests.
 */
export function estimateSecondsLeft(
  repositories: readonly RepositoryWork[],
  { startedAt, now }: { startedAt: number; now: number },
): number | null {
  if (now - startedAt < MIN_ELAPSED_MS) return null
  const open = repositories.filter(({ finishedAt }) => finishedAt === null)
  if (open.some(({ records }) => records !== null && records.waitingUntil !== null)) return null
  // Repositories that were reused before the export began took none of its time.
  const kinds = [recordsSteps(repositories), packingSteps(repositories)].map((steps) =>
    steps.filter(({ since }) => since === null || since >= startedAt),
  )
  const left: number[] = []
  for (const steps of kinds) {
    const ofKind = timesLeft(steps, now)
    if (!ofKind) return null
    left.push(...ofKind)
  }
  const begun = kinds.flat().filter(({ since }) => since !== null)
  const spent = sum(begun.map(({ since, until }) => (until ?? now) - since!))
  const elapsed = now - begun.reduce((first, { since }) => Math.min(first, since!), now)
  const concurrency = Math.min(Math.max(spent / elapsed, 1), Math.max(left.length, 1))
  // The longest part cannot be divided.
  const ms = left.reduce((longest, each) => Math.max(longest, each), sum(left) / concurrency)
  // Work that takes longer than expected leaves nothing to estimate from.
  return ms > 0 ? Math.ceil(ms / 1000) : null
}

function packingSteps(repositories: readonly RepositoryWork[]): Step[] {
  return repositories
    .filter(
      ({ packingSince, finishedAt, bytesExpected }) =>
        packingSince !== null || (finishedAt === null && bytesExpected > 0),
    )
    .map(({ packingSince, progressAt, finishedAt, bytesDone, bytesExpected }) => ({
      since: packingSince,
      progressAt: progressAt ?? null,
      until: finishedAt,
      done: bytesDone,
      expected: bytesExpected,
    }))
}

function recordsSteps(repositories: readonly RepositoryWork[]): Step[] {
  const begun = repositories.flatMap(({ records }) => records ?? [])
  if (begun.length === 0) return []
  // The number of issues is not known until the first of them are read.
  const isCounted = ({ expected, finishedAt }: RecordsWork) => expected > 0 || finishedAt !== null
  const counted = begun.filter(isCounted)
  const average = sum(counted.map(({ expected }) => expected)) / Math.max(counted.length, 1)
  return repositories
    .filter(({ records, finishedAt }) => records !== null || finishedAt === null)
    .map(({ records, finishedAt }) => ({
      since: records?.startedAt ?? null,
      progressAt: records?.progressAt ?? null,
      until: records?.finishedAt ?? finishedAt,
      done: records?.done ?? 0,
      expected: records && isCounted(records) ? records.expected : average,
    }))
}

/** Returns the milliseconds that each open step still takes, or undefined if too little is done to estimate it. */
function timesLeft(steps: readonly Step[], now: number): number[] | undefined {
  const open = steps.filter(({ until }) => until === null)
  if (open.length === 0) return []
  const finished = steps.filter(({ since, until }) => since !== null && until !== null)
  if (finished.length < Math.min(MIN_FINISHED, Math.floor(steps.length / 5))) return undefined
  const fraction = sum(steps.map(({ done }) => done)) / sum(steps.map(({ expected }) => expected))
  if (finished.length < MIN_FINISHED && !(fraction >= MIN_FRACTION)) return undefined
  // Small steps do not show how long one takes that is many times as large.
  const largest = steps.reduce((most, { done }) => Math.max(most, done), 0)
  if (open.some(({ expected }) => expected * MIN_FRACTION > largest)) return undefined
  if (open.some((step) => isStalled(step, now))) return undefined
  const latest = finished.toSorted((a, b) => b.until! - a.until!).slice(0, LATEST)
  const predict = fitTimes(latest.length > 0 ? latest : open, now)
  const times: number[] = []
  for (const { since, done, expected } of open) {
    const spent = since === null ? 0 : now - since
    const predicted = predict(expected)
    if (since !== null && done > 0 && done >= expected * MIN_FRACTION)
      times.push((spent * Math.max(expected - done, 0)) / done)
    else if (spent > predicted * OVERDUE.factor + OVERDUE.ms) return undefined
    else times.push(Math.max(predicted - spent, 0))
  }
  return times
}

const isStalled = ({ since, progressAt }: Step, now: number): boolean =>
  since !== null && now - Math.max(since, progressAt ?? 0) > STALLED_MS

/**
 * Predicts how long the export of repositories of these sizes takes, from how long others took. Returns null if there are none, or only
 * much smaller ones.
 */
export function predictSeconds(
  recent: readonly { bytes: number; ms: number }[],
  sizes: readonly number[],
): number | null {
  const largest = recent.reduce((most, { bytes }) => Math.max(most, bytes), 0)
  if (recent.length === 0 || sizes.some((size) => size * MIN_FRACTION > largest)) return null
  const steps = recent.map(({ bytes, ms }) => {
    return { since: 0, progressAt: null, until: ms, done: bytes, expected: bytes }
  })
  return Math.ceil(sum(sizes.map(fitTimes(steps, 0))) / 1000)
}

/** Fits a constant time per step and a time per unit to the steps by least squares. Neither is negative. */
function fitTimes(steps: readonly Step[], now: number): (size: number) => number {
  const points = steps
    .filter(({ since }) => since !== null)
    .map(({ since, until, done }) => ({ size: done, ms: (until ?? now) - since! }))
  const sizes = sum(points.map(({ size }) => size))
  const times = sum(points.map(({ ms }) => ms))
  const mean = { size: sizes / points.length, ms: times / points.length }
  const variance = sum(points.map(({ size }) => (size - mean.size) ** 2))
  if (variance === 0) return points.length < 2 && sizes > 0 ? proportional : () => mean.ms
  const covariance = sum(points.map(({ size, ms }) => (size - mean.size) * (ms - mean.ms)))
  const perUnit = covariance / variance
  if (perUnit <= 0) return () => mean.ms
  const perStep = mean.ms - perUnit * mean.size
  return perStep < 0 ? proportional : (size) => perStep + perUnit * size

  function proportional(size: number): number {
    return (times * size) / sizes
  }
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)
