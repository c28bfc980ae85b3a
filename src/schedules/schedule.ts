import type { Account } from '../accounts/account.ts'
import type { MigrationOptions } from '../migrations/migration.ts'

export type Period = 'day' | 'week'

/** In the order of `Date.getDay`. */
export const weekdays = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const
export type Weekday = (typeof weekdays)[number]

/** When a schedule runs, in local time. */
export interface Timing {
  every: Period
  /** Null if it runs every day. */
  weekday: Weekday | null
  /** `03:30`. */
  at: string
  /** IANA name. */
  timeZone: string
}

export interface ScheduleRequest extends Timing {
  /** The name of its migrations. */
  name: string | null
  /** Each run migrates all repositories that the owner may migrate then. */
  isForAll: boolean
  /** Full names; empty if `isForAll`. */
  repositories: string[]
  options: MigrationOptions
  keep: number
}

/** A migration that is started every day or every week. */
export interface Schedule extends ScheduleRequest {
  id: number
  /** The owner of the migrations: a person or an organization. */
  owner: Account
  /** The account with whose permissions each run starts its migration: it created or last resumed the schedule. */
  runsAs: Account
  /** Epoch milliseconds. Has no meaning while the schedule is paused. */
  nextRunAt: number
  isPaused: boolean
  /** Why the service paused it; null if a person did. */
  pausedReason: string | null
  createdAt: number
  updatedAt: number
}

export type SkippedRepository = { fullName: string; reason: string }

/** An archive that a schedule keeps in addition to the newest `keep`, because no newer one contains these repositories. */
export interface ProtectedArchive {
  migrationId: number
  /** When its migration was started. */
  createdAt: number
  /** Full names. */
  repositories: string[]
}
