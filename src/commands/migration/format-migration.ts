import {
  type ForecastResponse,
  type MigrationResponse,
  type RepositoryProgressResponse,
  type RepositoryResponse,
  type SummaryResponse,
  startFlagHelp,
} from '../../client/responses.ts'
import { isPartial } from '../../lib/is-partial.ts'
import { formatBytes, formatDuration } from '../../lib/quantities.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { ago } from '../command-line.ts'
import { paintState } from '../terminal.ts'
import { formatCounts, formatSkipped } from './partial-export.ts'

type Row = readonly string[]

const MIGRATION_TITLES = ['ID', 'STATE', 'REPOSITORIES', 'CREATED', 'ARCHIVE']

export const migrationRows = (migrations: readonly MigrationResponse[]): Row[] => [
  MIGRATION_TITLES,
  ...migrations.map((each) => [
    String(each.id),
    each.state,
    String(each.repositories.length),
    ago(each.created_at),
    each.archive_url ? 'yes' : '-',
  ]),
]

/** Formats summaries, which only Godwit servers have. They distinguish partial and cancelled migrations. */
export const summaryRows = (summaries: readonly SummaryResponse[]): Row[] => [
  MIGRATION_TITLES,
  ...summaries.map((each) => [
    String(each.id),
    isPartial(each) ? 'partial' : each.state,
    formatCounts(each),
    ago(each.created_at),
    each.archive ? (each.archive.damaged ? 'damaged' : 'yes') : '-',
  ]),
]

export function repositoryRows(repositories: readonly RepositoryResponse[]): Row[] {
  return [
    ['REPOSITORY', 'VISIBILITY', 'SIZE', 'DEFAULT BRANCH', 'PUSHED'],
    ...repositories.map((each) => [
      each.full_name,
      each.private ? 'private' : 'public',
      typeof each.size !== 'number' ? '-' : formatBytes(each.size * 1024),
      each.default_branch ?? '-',
      ago(each.pushed_at ?? null),
    ]),
  ]
}

const stateOf = (migration: MigrationResponse, summary: SummaryResponse | undefined): string =>
  summary && isPartial(summary) ? 'partial' : (summary ?? migration).state

const countOf = (
  { repositories }: MigrationResponse,
  summary: SummaryResponse | undefined,
): string => (summary ? formatCounts(summary) : String(repositories.length))

export function describeMigration(
  migration: MigrationResponse,
  summary: SummaryResponse | undefined,
  notExported: readonly RepositoryProgressResponse[],
  orgFlag = '',
): string {
  const { id, guid, state, created_at, updated_at, repositories, archive_url } = migration
  const fields = migration as unknown as Record<string, unknown>
  const flags = Object.keys(startFlagHelp).filter((flag) => fields[flag] === true)
  return [
    `Migration ${id} is ${paintState(stateOf(migration, summary))}.`,
    '',
    `guid          ${escapeForTerminal(guid)}`,
    `created       ${ago(created_at)} (${escapeForTerminal(created_at)})`,
    `updated       ${ago(updated_at)} (${escapeForTerminal(updated_at)})`,
    ...(flags.length > 0 ? [`options       ${flags.join(', ').replaceAll('_', ' ')}`] : []),
    `archive       ${describeArchive(state, `${id}${orgFlag}`, archive_url, summary?.archive?.damaged)}`,
    `repositories  ${countOf(migration, summary)}`,
    ...repositories.map(({ full_name }) => `  ${escapeForTerminal(full_name)}`),
    ...(notExported.length > 0 ? ['', ...formatSkipped(notExported)] : []),
  ].join('\n')
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

export function forecastRows({ repositories }: ForecastResponse): Row[] {
  return [
    ['REPOSITORY', 'SIZE', 'RESULT'],
    ...repositories.map(({ full_name, bytes, reused, reason, warning }) => [
      full_name,
      formatBytes(bytes),
      reason
        ? `cannot be exported: ${reason}`
        : `${reused ? 'reused' : 'exported'}${warning ? `; warning: ${warning}` : ''}`,
    ]),
  ]
}

/** Describes the size of the archive, the free space, the expected time, and warnings. */
export function formatForecast(forecast: ForecastResponse): string {
  const { bytes_to_write, free_bytes, estimated_seconds } = forecast
  const free = typeof free_bytes !== 'number' ? '' : `, ${formatBytes(free_bytes)} free`
  const time =
    typeof estimated_seconds !== 'number' ? '' : `, about ${formatDuration(estimated_seconds)}`
  return [
    // Older servers send no warnings.
    ...(forecast.warnings ?? []).map((warning) => `warning: ${escapeForTerminal(warning)}`),
    `${formatBytes(bytes_to_write)} to write${free}${time}; nothing was started`,
  ].join('\n')
}
