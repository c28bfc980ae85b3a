import { duration, inUnits } from '../lib/quantities.ts'
import { damageWarning } from './damaged-archives.ts'
import type { Migration } from './migration.ts'
import { type Progress, type RepositoryProgress, type Totals, totalsOf } from './progress.ts'

/** What became of a migration: what was exported, reused, skipped, what failed and why, in which size and time. */
export interface Report {
  migration: Migration
  progress: Progress
  totals: Totals
  seconds: number | null
  /** What is to be told of the archive as a whole. */
  warnings: string[]
}

/** `damaged` names the repositories whose data in the archive is damaged. */
export function reportOf(
  migration: Migration,
  progress: Progress,
  damaged: readonly string[],
  now: number,
): Report {
  const { startedAt, endedAt } = progress
  const seconds = startedAt === null ? null : ((endedAt ?? now) - startedAt) / 1000
  const totals = totalsOf(progress, now)
  const warnings = [
    ...(damaged.length > 0 ? [damageWarning(damaged)] : []),
    ...archiveWarnings(totals.bytesExpected ?? totals.bytesDone),
  ]
  return { migration, progress, totals, seconds, warnings }
}

/** The same for people. */
export function describeReport(report: Report): string {
  const { migration, progress, totals, seconds, warnings } = report
  const { exported, reused, skipped, failed, remaining, bytesDone } = totals
  const ended = progress.endedAt === null ? '' : ` on ${new Date(progress.endedAt).toISOString()}`
  const lines = [
    `Migration ${migration.id} (${migration.guid}) of ${migration.owner.login} is ${stateInWords(progress, totals)}${ended}.`,
    `${totals.repositories} repositories: ${exported} exported (${reused} of them reused), ${skipped} skipped, ${failed} failed, ${remaining} not ended.`,
    `${inUnits(bytesDone)} of git data${seconds === null ? '' : ` in ${duration(seconds)}`}.`,
  ]
  if (totals.recordsExpected > 0)
    lines.push(`${totals.recordsDone} issues and pull requests with all that belongs to them.`)
  lines.push(...warnings.map((warning) => `Warning: ${warning}.`))
  return [...lines, '', ...progress.repositories.map(describeRepository), ''].join('\n')
}

/** Partial is not whole. */
const stateInWords = ({ state }: Progress, { skipped }: Totals): string =>
  state === 'exported' && skipped > 0 ? 'exported in part' : state

function describeRepository(repository: RepositoryProgress): string {
  const { fullName, state, reused, bytesDone, reason, warning } = repository
  if (reason !== null) return `${state.padEnd(8)} ${fullName}: ${reason}`
  const how = state === 'exported' && reused ? 'reused' : state
  const told = warning === null ? '' : `; warning: ${warning}`
  const line = `${how.padEnd(8)} ${fullName}, ${inUnits(bytesDone)}${told}`
  return [line, ...describeRecords(repository)].join('\n')
}

/** A forge gives no snapshot: how new it is, and what it did not give. */
function describeRecords({ records }: RepositoryProgress): string[] {
  if (!records) return []
  const { asOf, waitingUntil, waitingFor, notes, done } = records
  if (asOf !== null) {
    const read = `${done} issues and pull requests as of ${new Date(asOf).toISOString()}`
    return [read, ...notes].map((each) => `         ${each}`)
  }
  if (waitingUntil === null) return []
  return [`         waiting until ${new Date(waitingUntil).toISOString()}: ${waitingFor ?? ''}`]
}

const LARGEST_IMPORTED = 40 * 2 ** 30

/** What is to be told of an archive with so many bytes, whoever made it. */
export function archiveWarnings(bytes: number): string[] {
  if (bytes <= LARGEST_IMPORTED) return []
  return [
    `GitHub's importers take archives of up to 40 GiB (43 GB), and this one has ${inUnits(bytes)}: export fewer repositories at a time`,
  ]
}
