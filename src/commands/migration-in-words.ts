import type { ForecastJson, MigrationJson, RepositoryJson } from '../client/wire.ts'
import { startFlags } from '../client/wire.ts'
import { harmless } from '../ground/terminal-text.ts'
import { inUnits } from '../migrations/report.ts'
import { paintState } from './paint.ts'

type Row = readonly string[]

/** What servers say, for people. */

export function migrationRows(migrations: readonly MigrationJson[]): Row[] {
  return [
    ['ID', 'STATE', 'REPOSITORIES', 'CREATED', 'ARCHIVE'],
    ...migrations.map((each) => [
      String(each.id),
      each.state,
      String(each.repositories.length),
      each.created_at,
      each.archive_url === undefined ? '-' : 'yes',
    ]),
  ]
}

export function repositoryRows(repositories: readonly RepositoryJson[]): Row[] {
  return [
    ['REPOSITORY', 'VISIBILITY', 'SIZE', 'DEFAULT BRANCH', 'PUSHED'],
    ...repositories.map((each) => [
      each.full_name,
      each.private ? 'private' : 'public',
      each.size === undefined ? '-' : inUnits(each.size * 1024),
      each.default_branch ?? '-',
      each.pushed_at ?? '-',
    ]),
  ]
}

export function describeMigration(migration: MigrationJson): string {
  const { id, guid, state, created_at, updated_at, repositories, archive_url } = migration
  const said = migration as unknown as Record<string, unknown>
  const flags = Object.keys(startFlags).filter((flag) => said[flag] === true)
  return [
    `Migration ${id} is ${paintState(state)}.`,
    '',
    `guid          ${harmless(guid)}`,
    `created       ${harmless(created_at)}`,
    `updated       ${harmless(updated_at)}`,
    ...(flags.length > 0 ? [`options       ${flags.join(', ').replaceAll('_', ' ')}`] : []),
    `archive       ${archiveInWords(state, id, archive_url)}`,
    `repositories  ${repositories.length}`,
    ...repositories.map(({ full_name }) => `  ${harmless(full_name)}`),
  ].join('\n')
}

function archiveInWords(state: string, id: number, address: string | undefined): string {
  if (address !== undefined) return `ready; download it with \`godwit migration download ${id}\``
  return state === 'exported' ? 'deleted or expired' : '-'
}

export function forecastRows({ repositories }: ForecastJson): Row[] {
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
export function forecastInWords(forecast: ForecastJson): string {
  const { bytes_to_write, free_bytes, estimated_seconds } = forecast
  const room = free_bytes === null ? '' : `, ${inUnits(free_bytes)} free`
  const time = estimated_seconds === null ? '' : `, about ${Math.ceil(estimated_seconds)} s`
  return [
    // A server of an older version sends none.
    ...(forecast.warnings ?? []).map((warning) => `warning: ${harmless(warning)}`),
    `${inUnits(bytes_to_write)} to write${room}${time}; nothing was started`,
  ].join('\n')
}
