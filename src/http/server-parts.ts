import type { Authenticator } from '../accounts/authenticator.ts'
import type { DiskReserve } from '../lib/disk-reserve.ts'
import type { IsAddressAllowed } from '../lib/outgoing-requests/address-filter.ts'
import type { ScheduleParts } from '../schedules/change-schedule.ts'
import type { apiHeaders, Forwarding, MediaTypeOptions } from './middleware/api-headers.ts'
import type { FailedLogins, SessionCookies } from './middleware/authenticate.ts'
import type {
  Admission,
  AdmissionOptions,
  ConcurrencyLimit,
} from './middleware/concurrency-limit.ts'
import type { ReadinessParts } from './middleware/dependencies.ts'
import type { RateLimit, RateLimitOptions } from './middleware/rate-limit.ts'
import type { Dashboard } from './pages/dashboard-files.ts'
import type { Rendering } from './rendering.ts'
import type { CloneTokens } from './routes/clones/clone-tokens.ts'
import type { DownloadParts } from './routes/migrations/archive-download.ts'
import type { MigrationText } from './routes/migrations/migration-json.ts'
import type { ProgressStreams } from './routes/migrations/progress-stream.ts'
import type { RepositoryRenderer } from './routes/repositories/rendered-repositories.ts'
import type { SourceReader } from './routes/repositories/source-reader.ts'
import type { OidcClient } from './routes/sessions/oidc-client.ts'

/** The dependencies and options of the server and its routes. */
export interface ServerParts
  extends ScheduleParts,
    Omit<DownloadParts, 'cors' | 'admission' | 'downloads'>,
    ReadinessParts {
  authenticator: Authenticator
  /** Absent unless the database is embedded. */
  reserve?: Pick<DiskReserve, 'withReserve'> | undefined
  sessionTtlMs: number
  /** Absent without an OpenID provider. */
  oidc: OidcClient | undefined
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
  /** The files of the dashboard. Undefined if they were not built. */
  dashboard: Dashboard | undefined
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
export interface ApiParts extends ServerParts {
  admission: Admission
  /** Limits concurrent starts of migrations and forecasts, because both examine repositories. */
  startLimit: ConcurrencyLimit
  largeResponseLimit: ConcurrencyLimit
  sourceReader: SourceReader
  streams: ProgressStreams
  repositoryRenderer: RepositoryRenderer
  migrationText: MigrationText
}
