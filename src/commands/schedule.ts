import { type Command, InvalidArgumentError, Option } from 'commander'
import { escapeForTerminal } from '../lib/terminal-text.ts'
import { UsageError } from '../lib/user-error.ts'
import type { ScheduleChange, ScheduleRequest } from '../wire/types.ts'
import { addClientCommand, printJson, sameOrgFlag, tell, withClient } from './client-command.ts'
import { idArgument, idOf, withExamples } from './command-line.ts'
import {
  addStartArguments,
  addStartFlags,
  type StartOptions,
  startRequest,
} from './migration/start-request.ts'
import { startOnce } from './migration/starting.ts'
import { describeSchedule, runRows, scheduleRows } from './schedule/format-schedule.ts'

const WEEKDAYS = [
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
  'sunday',
] as const

interface TimingOptions {
  every?: 'day' | 'week'
  weekday?: (typeof WEEKDAYS)[number]
  at?: string
  timeZone?: string
  keep?: number
}

const ID = idArgument('schedule')

/** Migrations that a Godwit server starts by itself. */
export function scheduleCommands(program: Command, about: string): void {
  const schedule = program.command('schedule').description(about)
  withExamples(
    schedule,
    'export GODWIT_URL=http://127.0.0.1:3000 GODWIT_TOKEN_FILE=~/.godwit-token',
    'godwit schedule add --all --every week --weekday sunday --at 03:30 --keep 4',
    'godwit schedule list',
  )
  addCommand(schedule)
  listCommand(schedule)
  showCommand(schedule)
  changeCommand(schedule)
  pauseCommand(schedule)
  resumeCommand(schedule)
  runCommand(schedule)
  releaseCommand(schedule)
  removeCommand(schedule)
}

function addTiming(command: Command): Command {
  return command
    .addOption(new Option('--every <period>', 'how often').choices(['day', 'week']))
    .addOption(new Option('--weekday <day>', 'for --every week').choices(WEEKDAYS))
    .option('--at <HH:MM>', 'time of the day, such as 03:30')
    .option('--time-zone <ZONE>', 'time zone of --at, such as Europe/Zurich')
    .option('--keep <N>', 'how many archives to keep', wholeNumber)
}

const timingOf = ({ every, weekday, at, timeZone, keep }: TimingOptions): ScheduleChange => ({
  ...(every && { every }),
  ...(weekday && { weekday }),
  ...(at !== undefined && { at }),
  ...(timeZone !== undefined && { time_zone: timeZone }),
  ...(keep !== undefined && { keep }),
})

function addCommand(schedule: Command): void {
  const command = addClientCommand(schedule, 'add', 'create a schedule and print its ID')
  addStartArguments(command)
  addTiming(command)
  addStartFlags(command)
  withExamples(
    command,
    'godwit schedule add alice/site --every day --at 03:30',
    'godwit schedule add --all --every week --weekday sunday --at 03:30 --time-zone Europe/Zurich',
    'godwit schedule add --org octo --all --every day --at 22:00 --keep 7 --allow-partial',
  )
  command.action(
    withClient(async (talk, options: StartOptions & TimingOptions, names: string[]) => {
      const { every, at } = options
      if (every === undefined) throw new UsageError('no period: give --every day or --every week')
      if (at === undefined) throw new UsageError('no time: give --at HH:MM, such as --at 03:30')
      const asked = await startRequest(talk, names, options)
      const timing = { time_zone: zoneHere(), ...timingOf(options) }
      const body: ScheduleRequest = { ...asked, ...timing, every, at }
      const made = await talk.api.schedules.add(body)
      tell(talk, made, String(made.id))
    }),
  )
}

/** Of the machine that the command is given on. */
const zoneHere = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

function listCommand(schedule: Command): void {
  const command = addClientCommand(schedule, 'list', 'list all schedules and their next runs')
  withExamples(command, 'godwit schedule list', 'godwit schedule list --org octo --json')
  command.action(
    withClient(async (talk) => {
      const all = await talk.api.schedules.list()
      tell(talk, all, scheduleRows(all))
    }),
  )
}

function showCommand(schedule: Command): void {
  const command = addClientCommand(schedule, 'show', 'show one schedule and its runs')
  withExamples(command, 'godwit schedule show 3', 'godwit schedule show 3 --json')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const found = await talk.api.schedules.show(id)
      if (talk.isJson) return printJson(found)
      tell(talk, found, describeSchedule(found, sameOrgFlag(talk)))
      const runs = await talk.api.schedules.runs(id)
      if (runs.length > 0) tell(talk, runs, runRows(runs))
    }),
  )
}

function changeCommand(schedule: Command): void {
  const command = addClientCommand(schedule, 'change', 'change when a schedule runs')
  addTiming(command.argument(...ID))
  withExamples(command, 'godwit schedule change 3 --at 04:00 --keep 8')
  command.action(
    withClient(async (talk, options: TimingOptions, id: number) => {
      const change = timingOf(options)
      if (Object.keys(change).length === 0)
        throw new UsageError(
          'nothing to change: give --every, --weekday, --at, --time-zone or --keep',
        )
      const changed = await talk.api.schedules.change(id, change)
      tell(talk, changed, describeSchedule(changed, sameOrgFlag(talk)))
    }),
  )
}

function pauseCommand(schedule: Command): void {
  const command = addClientCommand(schedule, 'pause', 'pause a schedule until it is resumed')
  withExamples(command, 'godwit schedule pause 3')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const paused = await talk.api.schedules.change(id, { paused: true })
      tell(talk, paused, `schedule ${id} is paused`)
    }),
  )
}

function resumeCommand(schedule: Command): void {
  const command = addClientCommand(schedule, 'resume', 'resume a schedule that is paused')
  withExamples(command, 'godwit schedule resume 3')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const resumed = await talk.api.schedules.change(id, { paused: false })
      tell(
        talk,
        resumed,
        `schedule ${id} runs next at ${escapeForTerminal(String(resumed.next_run_at))}`,
      )
    }),
  )
}

function runCommand(schedule: Command): void {
  const command = addClientCommand(
    schedule,
    'run',
    'run a schedule now and print the ID of the migration',
  )
  withExamples(
    command,
    'godwit schedule run 3',
    'godwit migration watch "$(godwit schedule run 3)"',
  )
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const run = await startOnce(talk, () => talk.api.schedules.run(id))
      tell(talk, run, String(run.migration_id))
    }),
  )
}

function releaseCommand(schedule: Command): void {
  const command = addClientCommand(
    schedule,
    'release',
    'delete archives that are kept only because newer ones lack some of their repositories',
  )
  withExamples(command, 'godwit schedule release 3', 'godwit schedule release 3 7')
  const about = 'ID of the migration whose archive to delete; all that `show` lists if not given'
  command
    .argument(...ID)
    .argument('[migration]', about, idOf('migration'))
    .action(
      withClient(async (talk, _options, id: number, migration?: number) => {
        const { schedules } = talk.api
        const kept = migration === undefined ? (await schedules.show(id)).protected_archives : []
        const ids = migration === undefined ? kept.map((each) => each.migration_id) : [migration]
        for (const each of ids) await schedules.release(id, each)
        const lines = ids.map((each) => `the archive of migration ${each} is deleted`)
        const none = `schedule ${id} has no archives to release`
        tell(talk, { id, released: ids }, lines.join('\n') || none)
      }),
    )
}

function removeCommand(schedule: Command): void {
  const about = 'delete a schedule; its migrations stay, and their archives expire'
  const command = addClientCommand(schedule, 'remove', about)
  withExamples(command, 'godwit schedule remove 3')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      await talk.api.schedules.remove(id)
      tell(talk, { id, schedule: 'deleted' }, `schedule ${id} is deleted`)
    }),
  )
}

function wholeNumber(text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a number, such as 4.')
}
