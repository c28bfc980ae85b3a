import { accountsAndCatalogue } from './0001-accounts-and-catalogue.ts'
import { migrations } from './0002-migrations.ts'
import { jobs } from './0003-jobs.ts'
import { exports } from './0004-exports.ts'
import { rateLimits } from './0005-rate-limits.ts'
import { progress } from './0006-progress.ts'
import { tallies } from './0007-tallies.ts'
import { composedArchives } from './0008-composed-archives.ts'
import { listedRepositories } from './0009-listed-repositories.ts'
import { housekeeping } from './0010-housekeeping.ts'
import { summaries } from './0011-summaries.ts'
import { serviceState } from './0012-service-state.ts'
import { storedSegments } from './0013-stored-segments.ts'
import { passingCounts } from './0014-passing-counts.ts'
import { migrationCounts } from './0015-migration-counts.ts'
import { freeBytes } from './0016-free-bytes.ts'
import { warnings } from './0016-warnings.ts'
import { factsKeptOnce } from './0018-facts-kept-once.ts'
import { exportedAndSkipped } from './0019-exported-and-skipped.ts'
import { memberships } from './0020-memberships.ts'
import { failedRepositories } from './0021-failed-repositories.ts'
import { discussions } from './0022-discussions.ts'
import { partialExports } from './0023-partial-exports.ts'
import { cancelled } from './0024-cancelled.ts'
import { sizesOfFacts } from './0025-sizes-of-facts.ts'
import { scratchBytes } from './0026-scratch-bytes.ts'
import { failedFingerprints } from './0027-failed-fingerprints.ts'
import { sessions } from './0028-sessions.ts'
import { repositoryChecks } from './0029-repository-checks.ts'
import { forgeSignIn } from './0030-forge-sign-in.ts'
import { records } from './0031-records.ts'
import { schedules } from './0032-schedules.ts'
import { forgeRights } from './0033-forge-rights.ts'
import { webhooks } from './0034-webhooks.ts'
import { parkedWebhookEvents } from './0036-parked-webhook-events.ts'
import { history } from './0037-history.ts'
import { forgeRemovals } from './0039-forge-removals.ts'
import { segmentChecks } from './0041-segment-checks.ts'
import type { SchemaStep } from './step.ts'

export const steps: readonly SchemaStep[] = [
  accountsAndCatalogue,
  migrations,
  jobs,
  exports,
  rateLimits,
  progress,
  tallies,
  composedArchives,
  listedRepositories,
  housekeeping,
  summaries,
  serviceState,
  storedSegments,
  passingCounts,
  migrationCounts,
  freeBytes,
  warnings,
  factsKeptOnce,
  exportedAndSkipped,
  memberships,
  failedRepositories,
  discussions,
  partialExports,
  cancelled,
  sizesOfFacts,
  scratchBytes,
  failedFingerprints,
  sessions,
  repositoryChecks,
  forgeSignIn,
  records,
  schedules,
  forgeRights,
  webhooks,
  segmentChecks,
  forgeRemovals,
  parkedWebhookEvents,
  history,
]
