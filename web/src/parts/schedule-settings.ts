import type { StartOptions as Options, Schedule, ScheduleRequest } from '../wire.ts'
import type { Timing } from './schedule-timing.tsx'

const OPTIONS = [
  'lock_repositories',
  'allow_partial',
  'exclude_metadata',
  'exclude_git_data',
  'exclude_attachments',
  'exclude_releases',
  'exclude_owner_projects',
  'org_metadata_only',
] as const satisfies (keyof Options)[]

type Switches = Pick<Options, (typeof OPTIONS)[number]>

/** All that can be changed of a schedule with its form. */
export type ScheduleSettings = Pick<Schedule, 'repositories'> & Switches & Timing

export const NO_OPTIONS = Object.fromEntries(OPTIONS.map((option) => [option, false])) as Switches

export function settingsOf(schedule: ScheduleSettings): ScheduleSettings {
  const options = OPTIONS.map((option) => [option, schedule[option]])
  return {
    repositories: schedule.repositories,
    ...(Object.fromEntries(options) as Switches),
    ...timingOf(schedule),
  }
}

/** Those that are on. */
export const optionsOf = (settings: ScheduleSettings): Partial<Options> =>
  Object.fromEntries(OPTIONS.filter((option) => settings[option]).map((option) => [option, true]))

export const timingOf = (settings: ScheduleSettings): Timing => {
  const { every, weekday, at, time_zone, keep } = settings
  return { every, weekday, at, time_zone, keep }
}

/** Where only organizations are exported, what was selected is not sent. */
export const asSent = (settings: ScheduleSettings): ScheduleSettings =>
  settings.org_metadata_only ? { ...settings, repositories: [] } : settings

/** Of a new one, options that are off are not sent either. */
export const requestOf = (settings: ScheduleSettings): ScheduleRequest => ({
  repositories: asSent(settings).repositories,
  ...optionsOf(settings),
  ...timingOf(settings),
})
