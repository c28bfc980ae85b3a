import * as responses from '@godwit/contract/client/responses'
import { isPartial } from '@godwit/contract/schemas/describe-outcome'
import { formatBytes, formatDuration, formatKib } from '@godwit/lib/quantities'
import { escapeForTerminal, oneLine } from '@godwit/lib/terminal-text'
import { formatTime } from '../print.ts'
import { type Cell, type Table, tableOf } from '../table.ts'
import { paintState } from '../terminal.ts'
import { formatCounts, formatProblems } from './partial-export.ts'

export const migrationRows = (migrations: readonly responses.MigrationResponse[]): Table =>
  tableOf(migrations, {
    ID: ({ id }) => id,
    STATE: ({ state }) => state,
    REPOSITORIES: ({ repositories }) => repositories.length,
    CREATED: ({ created_at }) => formatTime(created_at),
    ARCHIVE: ({ archive_url }) => (archive_url ? 'yes' : '-'),
  })

/** Formats summaries, which only Godwit servers have. They distinguish partial and cancelled migrations. */
export const summaryRows = (summaries: readonly responses.SummaryResponse[]): Table =>
  tableOf(summaries, {
    ID: ({ id }) => id,
    STATE: stateOf,
    REPOSITORIES: formatCounts,
    CREATED: ({ created_at }) => formatTime(created_at),
    ARCHIVE: ({ archive }) => archive && (archive.damaged ? 'damaged' : 'yes'),
    ...nameColumn(summaries),
  })

type Named = { name?: string | null }

/** Returns a column with the names, if there are any. */
export const nameColumn = (named: readonly Named[]): Record<string, (each: Named) => Cell> =>
  named.some(({ name }) => name) ? { NAME: ({ name }) => name } : {}

export const repositoryRows = (repositories: readonly responses.RepositoryResponse[]): Table =>
  tableOf(repositories, {
    REPOSITORY: ({ full_name }) => full_name,
    VISIBILITY: (each) => (each.private ? 'private' : 'public'),
    SIZE: ({ size }) => (typeof size === 'number' ? formatKib(size) : '-'),
    'DEFAULT BRANCH': ({ default_branch }) => default_branch,
    PUSHED: ({ pushed_at }) => formatTime(pushed_at ?? null),
  })

const stateOf = (summary: responses.SummaryResponse): string =>
  isPartial(summary) ? 'partial' : summary.state

export function describeMigration(
  migration: responses.MigrationResponse,
  summary: responses.SummaryResponse | undefined,
  results: readonly responses.RepositoryProgressResponse[],
  orgFlag = '',
): string {
  const { id, guid, state, created_at, updated_at, repositories, archive_url } = migration
  return [
    `Migration ${id} ${describeState(summary ? stateOf(summary) : state)}.`,
    '',
    ...formatName(summary),
    `guid          ${escapeForTerminal(guid)}`,
    `created       ${formatTime(created_at)} (${escapeForTerminal(created_at)})`,
    `updated       ${formatTime(updated_at)} (${escapeForTerminal(updated_at)})`,
    ...formatStartFlags(migration),
    `archive       ${describeArchive(state, `${id}${orgFlag}`, archive_url, summary?.archive?.damaged)}`,
    `repositories  ${summary ? formatCounts(summary) : repositories.length}`,
    ...repositories.map(({ full_name }) => `  ${escapeForTerminal(full_name)}`),
    ...describeReasons(summary, results),
  ].join('\n')
}

/** Returns a line with the name of a migration or schedule, or none. */
export const formatName = (named: Named | undefined): string[] =>
  named?.name ? [`name          ${escapeForTerminal(named.name)}`] : []

/** Completes the sentence about a migration. */
function describeState(state: string): string {
  const sentence: Record<string, string> = { failed: '', cancelled: 'was ', partial: 'is partly ' }
  const verb = Object.hasOwn(sentence, state) ? sentence[state]! : 'is '
  return `${verb}${state === 'partial' ? paintState('exported') : paintState(state)}`
}

/** Lists what is missing of each repository, or why the migration failed if no repository is the reason. */
function describeReasons(
  summary: responses.SummaryResponse | undefined,
  results: readonly responses.RepositoryProgressResponse[],
): string[] {
  const problems = results.filter(
    ({ reason, missing_lfs_objects: missing }) => typeof reason === 'string' || (missing ?? 0) > 0,
  )
  if (problems.length > 0) return ['', ...formatProblems(problems)]
  const { state, reason } = summary ?? {}
  return state === 'failed' && reason ? ['', `  ${oneLine(reason)}`] : []
}

/** Returns a line with the start flags that a migration or schedule has, or none. */
export function formatStartFlags(resource: object): string[] {
  const values = resource as Record<string, unknown>
  const flags = Object.keys(responses.startFlagHelp).filter((flag) => values[flag] === true)
  return flags.length > 0 ? [`options       ${flags.join(', ').replaceAll('_', ' ')}`] : []
}

function describeArchive(
  state: string,
  idAndFlag: string,
  address: string | null | undefined,
  isDamaged = false,
): string {
  if (isDamaged)
    return `damaged: start a new migration; \`godwit migration report ${idAndFlag}\` names what is damaged`
  if (address) return `ready; download it with \`godwit migration download ${idAndFlag}\``
  return state === 'exported' ? 'deleted or expired' : '-'
}

export const forecastRows = ({ repositories }: responses.ForecastResponse): Table =>
  tableOf(repositories, {
    REPOSITORY: ({ full_name }) => full_name,
    SIZE: ({ bytes }) => formatBytes(bytes),
    RESULT: ({ reused, reason, warning }) =>
      reason
        ? `cannot be exported: ${reason}`
        : `${reused ? 'reused' : 'exported'}${warning ? `; warning: ${warning}` : ''}`,
  })

/** Describes the size of the archive, the free space, the expected time, and warnings. */
export function formatForecast(forecast: responses.ForecastResponse): string {
  const { bytes_to_write, free_bytes, estimated_seconds } = forecast
  const free = typeof free_bytes !== 'number' ? '' : `, ${formatBytes(free_bytes)} free`
  const time =
    typeof estimated_seconds !== 'number'
      ? ''
      : `, ${estimated_seconds < 1 ? '' : 'about '}${formatDuration(estimated_seconds)}`
  return [
    ...(forecast.warnings ?? []).map((warning) => `warning: ${escapeForTerminal(warning)}`),
    `${formatBytes(bytes_to_write)} to write${free}${time}; nothing was started`,
  ].join('\n')
}
