import type { Account } from '../accounts/account.ts'
import type { MigrationOptions, ShownState } from '../migrations/migration.ts'

export const periods = ['day', 'week'] as const
export type Period = (typeof periods)[number]

/** As `Date` counts them. */
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

/** When it runs, by the clock on the wall of a place. */
export interface Timing {
  every: Period
  /** Set where it is every week. */
  weekday: Weekday | null
  /** `03:30`. */
  at: string
  /** By its IANA name. */
  timeZone: string
}

/** What is asked for when a schedule is made. */
export interface ScheduleRequest extends Timing {
  repositories: string[]
  options: MigrationOptions
  /** How many archives. */
  keep: number
}

/** A migration that is started again and again. */
export interface Schedule extends ScheduleRequest {
  id: number
  /** Whose migrations they are: a person, or an organization. */
  owner: Account
  /** The account that each run acts as. */
  maker: Account
  /** Epoch milliseconds; told only while it is not paused. */
  nextRunAt: number
  isPaused: boolean
  /** Why the service stopped it; null where somebody paused it. */
  pausedReason: string | null
  createdAt: number
  updatedAt: number
}

/** A repository that a run did without. */
export interface SkippedRepository {
  fullName: string
  reason: string
}

/** What became of one time. */
export interface ScheduleRun {
  id: number
  /** Null where somebody asked for it. */
  dueAt: number | null
  notedAt: number
  migrationId: number | null
  /** Of its migration; `skipped` where the one before had not ended, `failed` also where none could be started. */
  state: ShownState | 'skipped'
  /** Why it failed or was skipped. */
  reason: string | null
  skipped: SkippedRepository[]
  /** Whether its archive can be downloaded. */
  hasArchive: boolean
}

/** An archive that a schedule keeps beyond its number, because no newer one holds these repositories. */
export interface ProtectedArchive {
  migrationId: number
  /** When its migration was started. */
  createdAt: number
  /** Full names. */
  repositories: string[]
}
