import { ORDINARY } from '../../migrations/migration.ts'
import type { AskedSchedule } from '../../schedules/change-schedule.ts'
import type * as wire from '../../wire/types.ts'
import { optionsOf } from '../migrations/start-request.ts'

/** What a change of a schedule says; its schema has checked it before. */
export function askedScheduleOf(body: wire.ScheduleChange): AskedSchedule {
  const { repositories, every, weekday, at, time_zone: timeZone, keep, paused: isPaused } = body
  return {
    ...(repositories && { repositories }),
    ...(every && { every }),
    ...(weekday !== undefined && { weekday }),
    ...(at !== undefined && { at }),
    ...(timeZone !== undefined && { timeZone }),
    ...(keep !== undefined && { keep }),
    ...(isPaused !== undefined && { isPaused }),
    options: optionsOf(body),
  }
}

/** The same of a new one: what is not said of its options is as usual. */
export function newScheduleOf(body: wire.ScheduleRequest) {
  const asked = askedScheduleOf(body)
  return { ...asked, options: { ...ORDINARY, ...asked.options } }
}
