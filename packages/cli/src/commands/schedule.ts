import type { ScheduleResponse, ScheduleRunResponse } from '@godwit/contract/client/responses'
import { weekdays } from '@godwit/contract/schemas/schedule'
import type { ScheduleChange, ScheduleRequest } from '@godwit/contract/schemas/types'
import { summarizeNames } from '@godwit/lib/names'
import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError } from '@godwit/lib/user-error'
import { type Command, Option } from 'commander'
import { timeZone, wholeNumber } from '../settings/config-values.ts'
import {
  type ClientCommands,
  type ClientContext,
  clientCommandsOf,
  printing,
  startOnce,
  withClient,
} from './client-command.ts'
import { parsed, parseId, withExamples } from './command-line.ts'
import { formatName, formatStartFlags, nameColumn } from './migration/format-migration.ts'
import {
  addStartArguments,
  addStartFlags,
  type StartOptions,
  startRequest,
  startSettings,
} from './migration/start.ts'
import { watchUntilEnd } from './migration/watch.ts'
import { formatTime, printResult, printTable } from './print.ts'
import { type Table, tableOf } from './table.ts'

interface TimingOptions {
  every?: 'day' | 'week'
  weekday?: (typeof weekdays)[number]
  at?: string
  timeZone?: string
  keep?: number
}

/** Adds the commands that manage schedules: migrations that a Godwit server starts every day or every week. */
export function scheduleCommands(program: Command, about: string): void {
  const group = withExamples(program.command('schedule').description(about), [
    'godwit auth login',
    'godwit schedule add --all --every week --weekday sunday --at 03:30 --keep 4',
    'godwit schedule list',
  ])
  const commands = clientCommandsOf(group, 'schedule')
  const { add, addWithId } = commands
  createCommand(commands)
  add('list', 'list your schedules (or those of --org) and their next runs', [
    'godwit schedule list',
    'godwit schedule list --org octo --json',
  ]).action(printing(({ schedules }) => schedules.list(), scheduleRows, 'no schedules yet'))
  addWithId('show', 'show one schedule and its runs', [
    'godwit schedule show 3',
    'godwit schedule show 3 --json',
  ]).action(
    withClient(async (client, _options, id: number) => {
      const found = await client.api.schedules.show(id)
      const runs = await client.api.schedules.runs(id)
      printResult(client, { ...found, runs }, describeSchedule(found, client))
      if (!client.json) printTable(runRows(runs), 'no runs yet')
    }),
  )
  editCommand(commands)
  addWithId('pause', 'pause a schedule until it is resumed', ['godwit schedule pause 3']).action(
    withClient(async (client, _options, id: number) => {
      const paused = await client.api.schedules.change(id, { paused: true })
      printResult(client, paused, `schedule ${id} paused`)
    }),
  )
  addWithId('resume', 'resume a schedule that is paused', ['godwit schedule resume 3']).action(
    withClient(async (client, _options, id: number) => {
      const resumed = await client.api.schedules.change(id, { paused: false })
      const next = escapeForTerminal(String(resumed.next_run_at))
      printResult(client, resumed, `schedule ${id} resumed; it runs next at ${next}`)
    }),
  )
  addWithId('run', 'run a schedule now and print the ID of the migration', [
    'godwit schedule run 3',
    'godwit schedule run 3 --watch',
  ])
    .option('--watch', 'watch the migration until it has ended')
    .action(
      withClient(async (client, { watch }: { watch?: boolean }, id: number) => {
        const run = await startOnce(client, () => client.api.schedules.run(id))
        if (!watch || !client.json) printResult(client, run, String(run.migration_id))
        if (watch && run.migration_id !== null) await watchUntilEnd(client, run.migration_id)
      }),
    )
  releaseCommand(commands)
  addWithId('remove', 'remove a schedule; its migrations stay, and their archives expire', [
    'godwit schedule remove 3',
  ]).action(
    withClient(async (client, _options, id: number) => {
      await client.api.schedules.remove(id)
      printResult(client, { id, removed: true }, `schedule ${id} removed`)
    }),
  )
}

function addTiming(command: Command): Command {
  return command
    .addOption(new Option('--every <period>', 'how often; required').choices(['day', 'week']))
    .addOption(new Option('--weekday <day>', 'for --every week').choices(weekdays))
    .option(
      '--at <HH:MM>',
      'time of the day, from 00:00 to 23:59; required',
      parsed('--at', timeOfDay),
    )
    .option(
      '--time-zone <ZONE>',
      'time zone of --at, such as Europe/Zurich',
      parsed('--time-zone', timeZone),
    )
    .option('--keep <N>', 'how many archives to keep', parsed('--keep', wholeNumber(1, 999_999)))
}

function timeOfDay(text: string): string {
  if (/^([01]\d|2[0-3]):[0-5]\d$/.test(text)) return text
  throw new Error('must be a time from 00:00 to 23:59, such as 03:30')
}

const timingOf = ({ every, weekday, at, timeZone, keep }: TimingOptions): ScheduleChange => ({
  ...(every && { every }),
  ...(weekday && { weekday }),
  ...(at !== undefined && { at }),
  ...(timeZone !== undefined && { time_zone: timeZone }),
  ...(keep !== undefined && { keep }),
})

function createCommand({ add }: ClientCommands): void {
  const command = add('add', 'add a schedule and print its ID', [
    'godwit schedule add alice/site --every day --at 03:30',
    'godwit schedule add --all --every week --weekday sunday --at 03:30 --time-zone Europe/Zurich',
    'godwit schedule add --org octo --all --every day --at 22:00 --keep 7 --allow-partial',
  ])
  addStartFlags(addTiming(addStartArguments(command))).action(
    withClient(async (client, options: StartOptions & TimingOptions, names: string[]) => {
      const { every, at } = options
      if (every === undefined) throw new UsageError('no period: give --every day or --every week')
      if (at === undefined) throw new UsageError('no time: give --at HH:MM, such as --at 03:30')
      const time_zone = options.timeZone ?? localTimeZone()
      const start =
        options.all && names.length === 0
          ? { all: true, ...startSettings(options) }
          : await startRequest(client, names, options)
      const body: ScheduleRequest = { ...start, ...timingOf(options), time_zone, every, at }
      const added = await client.api.schedules.add(body)
      printResult(client, added, String(added.id))
    }),
  )
}

/** The zone of this machine has no name with a TZ such as `:/etc/localtime`. */
function localTimeZone(): string {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  if (timeZone && timeZone !== 'Etc/Unknown') return timeZone
  throw new UsageError(
    'no time zone: that of this machine has no name; give --time-zone ZONE, such as Europe/Zurich',
  )
}

function editCommand({ addWithId }: ClientCommands): void {
  const edit = addWithId(
    'edit',
    'change when a schedule runs, how many archives it keeps or its name, or let it migrate all repositories',
    ['godwit schedule edit 3 --at 04:00 --keep 8', 'godwit schedule edit 3 --all'],
  )
  const aboutAll = 'migrate all repositories, including future ones, instead of the listed ones'
  addTiming(edit)
    .option('--all', aboutAll)
    .option('--name <NAME>', "name of its migrations; '' for none")
    .action(
      withClient(async (client, options: StartOptions & TimingOptions, id: number) => {
        const changes = {
          ...timingOf(options),
          ...(options.all && { all: true }),
          ...(options.name !== undefined && { name: options.name }),
        }
        if (Object.keys(changes).length === 0)
          throw new UsageError(
            'nothing to change: give --every, --weekday, --at, --time-zone, --keep, --all or --name',
          )
        const changed = await client.api.schedules.change(id, changes)
        printResult(client, changed, describeSchedule(changed, client))
      }),
    )
}

function releaseCommand({ addWithId }: ClientCommands): void {
  const aboutMigration =
    'ID of the migration whose archive to delete; all that `show` lists if not given'
  addWithId('release', 'delete protected archives (the only copies of some repositories)', [
    'godwit schedule release 3',
    'godwit schedule release 3 7',
  ])
    .argument('[migration]', aboutMigration, parseId('migration'))
    .action(
      withClient(async (client, _options, id: number, migration?: number) => {
        const { schedules } = client.api
        const ids =
          migration === undefined
            ? (await schedules.show(id)).protected_archives.map((each) => each.migration_id)
            : [migration]
        for (const migrationId of ids) await schedules.release(id, migrationId)
        const lines = ids.map((migrationId) => `archive of migration ${migrationId} deleted`)
        const none = `schedule ${id} has no archives to release`
        printResult(client, { id, released: ids }, lines.join('\n') || none)
      }),
    )
}

const scheduleRows = (schedules: readonly ScheduleResponse[]): Table =>
  tableOf(schedules, {
    ID: ({ id }) => id,
    REPOSITORIES: ({ all, repositories }) => (all ? 'all' : repositories.length),
    RUNS: formatTiming,
    'NEXT RUN': ({ next_run_at: at }) => (at === null ? 'paused' : formatTime(at)),
    'LAST RUN': ({ last_run }) => last_run && formatRun(last_run),
    KEEP: ({ keep }) => keep,
    ...nameColumn(schedules),
  })

/** `every sunday at 03:30 Europe/Zurich`. */
const formatTiming = ({ every, weekday, at, time_zone }: ScheduleResponse): string =>
  `every ${weekday ?? every} at ${at} ${time_zone}`

function formatRun({ state, migration_id, created_at }: ScheduleRunResponse): string {
  const migration = migration_id === null ? '' : ` (migration ${migration_id})`
  return `${state}${migration} ${formatTime(created_at)}`
}

function describeSchedule(schedule: ScheduleResponse, client: ClientContext): string {
  const { id, next_run_at, paused_reason, repositories, last_run } = schedule
  const owner = escapeForTerminal(schedule.owner)
  const stopped = `stopped: ${escapeForTerminal(paused_reason ?? '')}`
  const next =
    next_run_at === null
      ? `${paused_reason === null ? 'paused' : stopped}; resume it with \`godwit schedule resume ${id}${client.api.orgFlag}\``
      : `${formatTime(next_run_at)} (${escapeForTerminal(next_run_at)})`
  return [
    `Schedule ${id} runs ${escapeForTerminal(formatTiming(schedule))}.`,
    '',
    ...formatName(schedule),
    `next run      ${next}`,
    `last run      ${last_run === null ? '-' : escapeForTerminal(formatRun(last_run))}`,
    `runs as       ${escapeForTerminal(schedule.created_by)}`,
    `keeps         ${formatCount(schedule.keep, 'archive')}`,
    ...formatStartFlags(schedule),
    `repositories  ${schedule.all ? `all repositories of ${owner}, including future ones` : repositories.length}`,
    ...repositories.map((name) => `  ${escapeForTerminal(name)}`),
    ...formatSkipped(last_run),
    ...formatProtected(schedule, client.api.orgFlag),
    '',
  ].join('\n')
}

function formatSkipped(last: ScheduleRunResponse | null): string[] {
  const skipped = last?.skipped_repositories ?? []
  if (skipped.length === 0) return []
  const lines = skipped.map(({ full_name, reason }) => `  ${full_name}: ${reason}`)
  return ['', 'skipped in the last run:', ...lines.map(escapeForTerminal)]
}

/** Lists the archives that are kept in addition to `keep`, why, and how to delete them. */
function formatProtected(schedule: ScheduleResponse, flags: string): string[] {
  const { id, protected_archives: archives } = schedule
  if (archives.length === 0) return []
  const lines = archives.map(({ migration_id, created_at, repositories }) => {
    const names = summarizeNames(repositories, 20)
    return `  migration ${migration_id} (${formatTime(created_at)}): ${names}`
  })
  return [
    '',
    'archives that are kept as well, because no newer one holds these repositories:',
    ...lines.map(escapeForTerminal),
    `delete them with \`godwit schedule release ${id}${flags}\``,
  ]
}

const runRows = (runs: readonly ScheduleRunResponse[]): Table =>
  tableOf(runs, {
    MIGRATION: ({ migration_id }) => migration_id,
    STATE: ({ state }) => state,
    RUN: ({ created_at }) => formatTime(created_at),
    ARCHIVE: ({ has_archive }) => (has_archive ? 'yes' : '-'),
    REASON: ({ reason }) => reason?.split('\n')[0],
  })
