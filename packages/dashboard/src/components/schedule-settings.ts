import type { StartOptions as Options, Schedule, ScheduleRequest } from '../api-types.ts'
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

/** The settings of a schedule that its form edits. */
export type ScheduleSettings = Pick<Schedule, 'name' | 'all' | 'repositories'> & Switches & Timing

export const NO_OPTIONS = Object.fromEntries(OPTIONS.map((option) => [option, false])) as Switches

export function settingsOf(schedule: ScheduleSettings): ScheduleSettings {
  const options = OPTIONS.map((option) => [option, schedule[option]])
  const { name, all, repositories } = schedule
  return {
    ...{ name, all, repositories },
    ...(Object.fromEntries(options) as Switches),
    ...timingOf(schedule),
  }
}

/** Returns the options that are on. */
export const optionsOf = (settings: ScheduleSettings): Partial<Options> =>
  Object.fromEntries(OPTIONS.filter((option) => settings[option]).map((option) => [option, true]))

export const timingOf = (settings: ScheduleSettings): Timing => {
  const { every, weekday, at, time_zone, keep } = settings
  return { every, weekday, at, time_zone, keep }
}

/** A migration of organization metadata, or of all repositories, has no list of them. */
export const asSent = (settings: ScheduleSettings): ScheduleSettings =>
  settings.org_metadata_only || settings.all ? { ...settings, repositories: [] } : settings

/** The request for a new schedule, without the options that are off. */
export const requestOf = (settings: ScheduleSettings): ScheduleRequest => ({
  ...(settings.name !== null && { name: settings.name }),
  ...(settings.all ? { all: true } : { repositories: asSent(settings).repositories }),
  ...optionsOf(settings),
  ...timingOf(settings),
})
