import type { Logger } from 'pino'
import type { Authenticator } from '../accounts/authenticator.ts'
import type { Db } from '../db/database.ts'
import type { ScheduleParts } from '../schedules/change-schedule.ts'
import type { IsAllowed } from '../webhooks/allowed-addresses.ts'
import type { Admission, AdmissionOptions } from './middleware/admission.ts'
import type { HeavyRequests } from './middleware/concurrency-limit.ts'
import type { DependencyParts } from './middleware/dependencies.ts'
import type { MediaTypeOptions } from './middleware/media-type.ts'
import type { RateLimitOptions } from './middleware/rate-limit.ts'
import type { Dashboard } from './pages/dashboard-files.ts'
import type { Rendering } from './rendering.ts'
import type { CloneTokens } from './routes/clones/clone-tokens.ts'
import type { DownloadParts } from './routes/migrations/archive-download.ts'
import type { MigrationText } from './routes/migrations/migration-json.ts'
import type { ProgressStreams } from './routes/migrations/progress-stream.ts'
import type { RepositoryRenderer } from './routes/repositories/rendered-repositories.ts'

/** The dependencies and options of the server and its routes. */
export interface ServerParts
  extends ScheduleParts,
    Omit<DownloadParts, 'admission' | 'downloads'>,
    DependencyParts {
  db: Db
  now: () => number
  authenticator: Authenticator
  log: Logger
  rendering: Rendering
  mediaType: MediaTypeOptions
  rateLimit: RateLimitOptions
  limits: AdmissionOptions
  /** How many git processes may serve clones at a time, and how long a request waits for one. */
  cloneSlots: { max: number; waitMs: number }
  cloneTokens: CloneTokens
  /** Addresses or networks whose `x-forwarded-for` is trusted. */
  trustedProxies: string[]
  version: string
  /** The version of GitHub Enterprise Server that `/meta` reports; none by default. */
  installedVersion: string | undefined
  /** Whether a webhook may be sent to an IP address. */
  isWebhookAllowed: IsAllowed
  /** Undefined if the pages were not built. */
  dashboard: Dashboard | undefined
}

/** The dependencies of the operations of the API. */
export interface ApiParts extends ServerParts {
  admission: Admission
  /** Limits starts of migrations, and forecasts, which examine repositories as a start does. */
  starts: HeavyRequests
  largeResponses: HeavyRequests
  streams: ProgressStreams
  rendered: RepositoryRenderer
  text: MigrationText
}
