import {
  type ForecastResponse,
  type MigrationResponse,
  type RepositoryProgressResponse,
  type RepositoryResponse,
  type SummaryResponse,
  startFlagHelp,
} from '../../client/responses.ts'
import { isPartial } from '../../lib/is-partial.ts'
import { duration, inUnits } from '../../lib/quantities.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { ago } from '../command-line.ts'
import { paintState } from '../paint.ts'
import { formatCounts, formatNames } from './partial-export.ts'

type Row = readonly string[]

/** What servers say, for people. */

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
      typeof each.size !== 'number' ? '-' : inUnits(each.size * 1024),
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
  sameOrgFlag = '',
): string {
  const { id, guid, state, created_at, updated_at, repositories, archive_url } = migration
  const said = migration as unknown as Record<string, unknown>
  const flags = Object.keys(startFlagHelp).filter((flag) => said[flag] === true)
  return [
    `Migration ${id} is ${paintState(stateOf(migration, summary))}.`,
    '',
    `guid          ${escapeForTerminal(guid)}`,
    `created       ${ago(created_at)} (${escapeForTerminal(created_at)})`,
    `updated       ${ago(updated_at)} (${escapeForTerminal(updated_at)})`,
    ...(flags.length > 0 ? [`options       ${flags.join(', ').replaceAll('_', ' ')}`] : []),
    `archive       ${archiveInWords(state, `${id}${sameOrgFlag}`, archive_url, summary?.archive?.damaged)}`,
    `repositories  ${countOf(migration, summary)}`,
    ...repositories.map(({ full_name }) => `  ${escapeForTerminal(full_name)}`),
    ...(notExported.length > 0 ? ['', ...formatNames(notExported)] : []),
  ].join('\n')
}

function archiveInWords(
  state: string,
  which: string,
  address: string | null | undefined,
  isDamaged = false,
): string {
  if (isDamaged)
    return `damaged: start a new migration; \`godwit migration report ${which}\` names what is damaged`
  if (address) return `ready; download it with \`godwit migration download ${which}\``
  return state === 'exported' ? 'deleted or expired' : '-'
}

export function forecastRows({ repositories }: ForecastResponse): Row[] {
  return [
    ['REPOSITORY', 'SIZE', 'RESULT'],
    ...repositories.map(({ full_name, bytes, reused, reason, warning }) => [
      full_name,
      inUnits(bytes),
      reason
        ? `cannot be exported: ${reason}`
        : `${reused ? 'reused' : 'exported'}${warning ? `; warning: ${warning}` : ''}`,
    ]),
  ]
}

/** How much, into how much room, in how long, and what is to be known of the archive. */
export function formatForecast(forecast: ForecastResponse): string {
  const { bytes_to_write, free_bytes, estimated_seconds } = forecast
  const room = typeof free_bytes !== 'number' ? '' : `, ${inUnits(free_bytes)} free`
  const time = typeof estimated_seconds !== 'number' ? '' : `, about ${duration(estimated_seconds)}`
  return [
    // A server of an older version sends none.
    ...(forecast.warnings ?? []).map((warning) => `warning: ${escapeForTerminal(warning)}`),
    `${inUnits(bytes_to_write)} to write${room}${time}; nothing was started`,
  ].join('\n')
}
