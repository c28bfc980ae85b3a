import type { DiskReserve } from '@godwit/lib/disk-reserve'
import type { IsAddressAllowed } from '@godwit/lib/outgoing-requests/address-filter'
import type { Logger } from 'pino'
import type { Authenticator } from '../accounts/authenticator.ts'
import type { BlobStore } from '../blobs/blob-store.ts'
import type { ScheduleDependencies } from '../schedules/change-schedule.ts'
import type { ArchiveLinks } from './credentials/archive-links.ts'
import type { CloneTokens } from './credentials/clone-tokens.ts'
import type { apiHeaders, Forwarding, MediaTypeOptions } from './middleware/api-headers.ts'
import type { FailedLogins, SessionCookies } from './middleware/authenticate.ts'
import type {
  Admission,
  AdmissionOptions,
  ConcurrencyLimit,
} from './middleware/concurrency-limit.ts'
import type { RateLimit, RateLimitOptions } from './middleware/rate-limit.ts'
import type { Rendering } from './rendering/rendering.ts'

/** The dependencies and options of several routes. */
export interface ServerDependencies extends ScheduleDependencies {
  blobs: BlobStore
  log: Logger
  links: ArchiveLinks
  authenticator: Authenticator
  /** Absent unless the database is embedded. */
  reserve?: Pick<DiskReserve, 'withReserve'> | undefined
  sessionTtlMs: number
  /** The header in which trusted proxies name the person whom they have authenticated, in lower case. */
  userHeader: string | undefined
  /** What the dashboard calls the sign-in without a token. */
  signInName: string
  /** Whether a first sign-in without a token creates the account of anybody. */
  mayCreateAccounts: boolean
  rendering: Rendering
  mediaType: MediaTypeOptions
  rateLimit: RateLimitOptions
  requestLimits: AdmissionOptions
  /** How many git processes may serve clones at a time, and how long a request waits for one. */
  cloneSlots: { max: number; waitMs?: number }
  cloneTokens: CloneTokens
  /** IP addresses or networks of the proxies whose `x-forwarded-for` is trusted. */
  trustedProxies: string[]
  /** An account with so many valid tokens cannot create another one. */
  maxTokens: number
  version: string
  /** The version of GitHub Enterprise Server that `/meta` reports. By default it reports none. */
  installedVersion: string | undefined
  /** Returns whether webhooks may be sent to an IP address. */
  isWebhookAllowed: IsAddressAllowed
}

/** The checks that every request passes before its handler runs. */
export interface Guards {
  setApiHeaders: ReturnType<typeof apiHeaders>['setApiHeaders']
  limit: RateLimit
  forwarding: Forwarding
  logins: FailedLogins
  cookies: SessionCookies
}

/** The dependencies of the API routes: those of the server, and those that the server creates. */
export interface ApiDependencies extends ServerDependencies {
  admission: Admission
  /** Limits concurrent starts of migrations and forecasts, because both examine repositories. */
  startLimit: ConcurrencyLimit
  largeResponseLimit: ConcurrencyLimit
}
