import {
  type ScheduleResponse,
  type ScheduleRunResponse,
  startFlagHelp,
} from '../../client/responses.ts'
import { escapeForTerminal } from '../../lib/terminal-text.ts'
import { ago } from '../command-line.ts'

type Row = readonly string[]

export function scheduleRows(schedules: readonly ScheduleResponse[]): Row[] {
  return [
    ['ID', 'REPOSITORIES', 'RUNS', 'NEXT RUN', 'LAST RUN', 'KEEP'],
    ...schedules.map((each) => [
      String(each.id),
      String(each.repositories.length),
      timingInWords(each),
      nextInWords(each),
      each.last_run === null ? '-' : runInWords(each.last_run),
      String(each.keep),
    ]),
  ]
}

/** `every sunday at 03:30 Europe/Zurich`. */
const timingInWords = ({ every, weekday, at, time_zone }: ScheduleResponse): string =>
  `every ${weekday ?? every} at ${at} ${time_zone}`

const nextInWords = ({ next_run_at }: ScheduleResponse): string =>
  next_run_at === null ? 'paused' : ago(next_run_at)

function runInWords({ state, migration_id, created_at }: ScheduleRunResponse): string {
  const which = migration_id === null ? '' : ` (migration ${migration_id})`
  return `${state}${which} ${ago(created_at)}`
}

export function describeSchedule(schedule: ScheduleResponse, sameOrgFlag: string): string {
  const { id, next_run_at, paused_reason, repositories, last_run } = schedule
  const said = schedule as unknown as Record<string, unknown>
  const flags = Object.keys(startFlagHelp).filter((flag) => said[flag] === true)
  const stopped = `stopped: ${escapeForTerminal(paused_reason ?? '')}`
  const next =
    next_run_at === null
      ? `${paused_reason === null ? 'paused' : stopped}; resume it with \`godwit schedule resume ${id}${sameOrgFlag}\``
      : `${ago(next_run_at)} (${escapeForTerminal(next_run_at)})`
  return [
    `Schedule ${id} runs ${escapeForTerminal(timingInWords(schedule))}.`,
    '',
    `next run      ${next}`,
    `last run      ${last_run === null ? '-' : escapeForTerminal(runInWords(last_run))}`,
    `runs as       ${escapeForTerminal(schedule.created_by)}`,
    `keeps         ${schedule.keep} ${schedule.keep === 1 ? 'archive' : 'archives'}`,
    ...(flags.length > 0 ? [`options       ${flags.join(', ').replaceAll('_', ' ')}`] : []),
    `repositories  ${repositories.length}`,
    ...repositories.map((name) => `  ${escapeForTerminal(name)}`),
    ...skippedInWords(last_run),
    ...protectedInWords(schedule, sameOrgFlag),
    '',
  ].join('\n')
}

function skippedInWords(last: ScheduleRunResponse | null): string[] {
  const skipped = last?.skipped_repositories ?? []
  if (skipped.length === 0) return []
  const lines = skipped.map(({ full_name, reason }) => `  ${full_name}: ${reason}`)
  return ['', 'skipped in the last run:', ...lines.map(escapeForTerminal)]
}

const MAX_NAMED = 20

/** The archives that are kept beyond `keep`, what for, and how to let them go. */
function protectedInWords(schedule: ScheduleResponse, sameOrgFlag: string): string[] {
  const { id, protected_archives: archives } = schedule
  if (archives.length === 0) return []
  const lines = archives.map(({ migration_id, created_at, repositories }) => {
    const more = repositories.length - MAX_NAMED
    const names = repositories.slice(0, MAX_NAMED).join(', ')
    const which = `  migration ${migration_id} (${ago(created_at)})`
    return `${which}: ${names}${more > 0 ? ` and ${more} more` : ''}`
  })
  return [
    '',
    'archives that are kept as well, because no newer one holds these repositories:',
    ...lines.map(escapeForTerminal),
    `delete them with \`godwit schedule release ${id}${sameOrgFlag}\``,
  ]
}

export function runRows(runs: readonly ScheduleRunResponse[]): Row[] {
  return [
    ['MIGRATION', 'STATE', 'RUN', 'ARCHIVE', 'REASON'],
    ...runs.map((each) => [
      each.migration_id === null ? '-' : String(each.migration_id),
      each.state,
      ago(each.created_at),
      each.has_archive ? 'yes' : '-',
      each.reason?.split('\n')[0] ?? '-',
    ]),
  ]
}
