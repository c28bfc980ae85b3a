import { UNSERVED_RESOURCES } from '@godwit/contract/schemas/user'
import type { Account } from '../../accounts/account.ts'
import type { AuditEntry } from '../../accounts/audit-log.ts'
import type { EndedMigration } from '../../migrations/end-migration.ts'
import { DEFAULT_OPTIONS, type Migration } from '../../migrations/migration.ts'
import { type Progress, reportOf } from '../../migrations/progress.ts'
import type { ServiceState } from '../../migrations/service-state.ts'
import type { Summary } from '../../migrations/summaries.ts'
import {
  metadataOfUnreadable,
  type RepositoryMetadata,
} from '../../repositories/repository-metadata.ts'
import type { ScheduleRun } from '../../schedules/run-store.ts'
import type { Schedule } from '../../schedules/schedule-store.ts'
import type { Delivery, FullDelivery } from '../../webhooks/delivery-store.ts'
import type { Webhook } from '../../webhooks/webhook-store.ts'
import { API_VERSIONS } from '../middleware/api-headers.ts'
import * as httpErrors from '../middleware/http-errors.ts'
import { rootJson } from '../pages/root-json.ts'
import { licenseJson, licenseTextJson } from '../rendering/license-json.ts'
import * as migrationRenderers from '../rendering/migration-json.ts'
import * as organizationRenderers from '../rendering/organization-json.ts'
import { type Rendering, utcTimestamp } from '../rendering/rendering.ts'
import * as repositoryRenderers from '../rendering/repository-json.ts'
import { tokenJson } from '../rendering/token-json.ts'
import { currentUserJson, userJson } from '../rendering/user-json.ts'
import { serviceStateJson } from '../routes/admin/service-state-json.ts'
import { auditEntryJson } from '../routes/audit/audit.ts'
import * as progressRenderers from '../routes/migrations/progress-json.ts'
import {
  type ScheduleHistory,
  scheduleJson,
  scheduleRunJson,
} from '../routes/schedules/schedule-json.ts'
import * as webhookRenderers from '../routes/webhooks/webhook-json.ts'

const AT = Date.UTC(2026, 4, 4, 9, 30)

const alice: Account = { id: 1, login: 'alice', type: 'User', siteAdmin: false, createdAt: AT }
const octo: Account = { ...alice, id: 12, login: 'octo', type: 'Organization' }

const auditEntry: AuditEntry = {
  id: 58,
  at: AT,
  actor: 'alice',
  actorId: 1,
  token: 'laptop',
  address: '192.0.2.7',
  action: 'migration.start',
  subject: 'migration 79',
  outcome: 'done',
  details: { migration: 79, guid: '3f1c2a52-6b7e-4f7e-9d55-0a4f8c1f7b21' },
}

const atlas: RepositoryMetadata = {
  ...metadataOfUnreadable(AT),
  id: 7,
  name: 'atlas',
  owner: alice,
  description: 'Maps of every coast',
  private: false,
  sizeKib: 1080,
  language: 'TypeScript',
  license: 'MIT',
  topics: ['maps'],
  hasWiki: true,
  fork: false,
  forksCount: 0,
  permissions: { admin: true, push: true, pull: true },
  template: null,
}

const indexed = {
  id: atlas.id,
  owner: alice,
  name: atlas.name,
  metadata: { ...metadataOfUnreadable(AT), license: 'MIT' },
}
const COMMIT = '7fd1a60b01f91b314f59955a4e4d4e80d8edf11d'
const LICENSE_TEXT = 'MIT License\n\nCopyright (c) 2026 Alice\n'
const licenseFile = {
  path: 'LICENSE',
  oid: '3c6a6b1a6a6d2f4f1a1c7c2cb5a9a3d1a7e6b0c4',
  bytes: Buffer.from(LICENSE_TEXT),
  license: 'MIT',
}
const collaborator = {
  account: alice,
  permission: 'admin' as const,
  isInside: true,
  isDirect: true,
}

const pending: Migration = {
  id: 79,
  guid: '3f1c2a52-6b7e-4f7e-9d55-0a4f8c1f7b21',
  owner: alice,
  name: 'Before the move',
  options: { ...DEFAULT_OPTIONS, lockRepositories: true },
  state: 'pending',
  reason: null,
  repositoryCount: 1,
  version: 1,
  createdAt: AT,
  updatedAt: AT,
  archiveExpiresAt: null,
  archiveKey: null,
}
const exported: Migration = { ...pending, state: 'exported', archiveExpiresAt: AT }
const failed: Migration = {
  ...pending,
  state: 'failed',
  reason: 'alice/atlas: an object is missing',
}
const cancelled: Migration = { ...pending, state: 'failed', reason: 'cancelled' }

const progress: Progress = {
  state: 'exporting',
  reason: null,
  createdAt: AT,
  startedAt: AT,
  endedAt: null,
  repositories: [
    {
      fullName: 'alice/atlas',
      state: 'exporting',
      phase: 'packing',
      packingSince: AT,
      bytesDone: 524288,
      bytesExpected: 1105920,
      reused: false,
      reason: null,
      warning: null,
      missingLfs: 0,
      startedAt: AT,
      progressAt: AT,
      finishedAt: null,
      order: null,
      records: {
        done: 40,
        expected: 40,
        startedAt: AT,
        progressAt: AT,
        finishedAt: AT,
        asOf: AT,
        waitingUntil: null,
        waitingFor: null,
        losses: [],
      },
    },
  ],
}
const summary: Summary = {
  ...exported,
  startedAt: AT,
  endedAt: AT,
  repositories: {
    total: 1,
    exported: 1,
    reused: 0,
    incomplete: 0,
    skipped: 0,
    failed: 0,
    remaining: 0,
  },
  bytesDone: 1105920,
  archive: { bytes: 1110016, expiresAt: AT, isDamaged: false },
  heldLocks: 1,
  names: ['alice/atlas'],
}
const schedule: Schedule = {
  id: 3,
  owner: alice,
  runsAs: alice,
  name: 'Weekly backup',
  isForAll: false,
  repositories: ['alice/atlas'],
  options: DEFAULT_OPTIONS,
  every: 'week',
  weekday: 'sunday',
  at: '03:30',
  timeZone: 'Europe/Zurich',
  keep: 4,
  nextRunAt: Date.UTC(2026, 4, 10, 1, 30),
  isPaused: false,
  pausedReason: null,
  createdAt: AT,
  updatedAt: AT,
}
const run: ScheduleRun = {
  id: 12,
  dueAt: Date.UTC(2026, 4, 3, 1, 30),
  createdAt: Date.UTC(2026, 4, 3, 1, 30, 9),
  migrationId: 79,
  state: 'exported',
  reason: null,
  skipped: [
    { fullName: 'bob/notes', reason: 'it does not exist, or alice may no longer migrate it' },
  ],
  hasArchive: true,
}
const history: ScheduleHistory = {
  lastRun: run,
  protectedArchives: [{ migrationId: 61, createdAt: AT, repositories: ['bob/notes'] }],
}
const lock = {
  owner: 'alice',
  name: 'atlas',
  repositoryId: 7,
  migrationId: 79,
  holder: 'alice',
  lockedAt: AT,
  expiresAt: AT,
}
const link = {
  url: `https://godwit.example.com/archives/${pending.guid}.tar.gz?expires=1777887300&sig=9f86d081884c7d65`,
  expiresAt: AT,
}
const forecast = {
  repositories: [
    {
      fullName: 'alice/atlas',
      bytes: 1105920,
      lfsBytes: 0,
      reused: false,
      reason: null,
      warning: null,
    },
  ],
  bytesToWrite: 1105920,
  freeBytes: 68719476736,
  seconds: 1,
  quota: { max: 50_000_000_000, used: 734_003_200 },
  warnings: [],
}

const counts = {
  'repositories exported': 9,
  'repositories reused': 3,
  'repositories skipped': 0,
  'repositories failed': 0,
  'migrations exported': 1,
  'migrations failed': 0,
  'migrations cancelled': 0,
}
const serviceState: ServiceState = {
  observedAt: AT,
  migrations: { pending: 0, exporting: 1, exported: 1203, failed: 4, cancelled: 2 },
  running: [{ ...summary, ...pending, state: 'exporting' }],
  backlog: [{ kind: 'export-repository', jobs: 30, oldest: AT }],
  throughput: {
    period: 'hour',
    bucketMs: 60_000,
    buckets: [
      { startedAt: AT, count: counts, bytes: { ...counts, 'repositories exported': 9437184 } },
    ],
  },
  locks: { held: 1, newest: [lock] },
  failures: [
    {
      migration: { ...summary, ...failed, id: 78 },
      notExported: [{ fullName: 'alice/atlas', reason: 'an object is missing' }],
    },
  ],
  workers: [
    {
      id: '0c9d1f5e-52a0-4a57-9f0c-6a1f3a4f1b7e',
      host: 'worker-1',
      pid: 4242,
      role: 'all',
      version: '1.0.0',
      concurrency: 2,
      runningJobs: 2,
      startedAt: AT,
      seenAt: AT,
      isAlive: true,
      freeBytes: 68719476736,
      scratchBytes: 0,
    },
  ],
  archives: [summary],
  checks: {
    passed: 129,
    failed: 1,
    newestAt: AT,
    problems: [{ fullName: 'alice/atlas', checkedAt: AT, reason: 'an object is missing' }],
  },
}
const webhook: Webhook = {
  id: 3,
  owner: alice,
  url: 'https://ci.example.com/godwit',
  contentType: 'json',
  secret: 'hidden',
  events: ['migration'],
  isActive: true,
  createdAt: AT,
  updatedAt: AT,
  failingSince: null,
  disabledReason: null,
  lastDelivery: { at: AT, statusCode: 200, status: 'OK' },
}
const delivery: Delivery = {
  id: 41,
  guid: '8a4c1c1e-5b0e-4f5a-9d5b-2f6f5f0c7a11',
  eventId: 12,
  event: 'migration',
  action: 'exported',
  deliveredAt: AT,
  isRedelivery: false,
  durationMs: 270,
  status: 'OK',
  statusCode: 200,
  state: 'delivered',
  nextAt: null,
  subject: { summary },
}
const token = {
  id: 7,
  login: 'alice',
  name: 'laptop',
  isReadOnly: true,
  organization: null,
  createdAt: AT,
  expiresAt: AT + 7_776_000_000,
  lastUsedAt: AT,
  lastUsedIp: '192.0.2.7',
  revokedAt: null,
}
const storage = {
  segments: 5210,
  archives: 12,
  archiveBytes: 734003200,
  reuseBytes: 4849454284,
  scratchBytes: 0,
  freeBytes: 68719476736,
}

/** Renders the examples with the renderers of the real responses and the addresses of this server. */
export function examplesOf(rendering: Rendering): Record<string, { value: unknown }> {
  const values = Object.entries(exampleValues(rendering))
  return Object.fromEntries(values.map(([name, value]) => [name, { value }]))
}

function fullDelivery(rendering: Rendering): FullDelivery {
  const subject: EndedMigration = { summary, startedBy: alice }
  const event = { ...delivery, webhookId: webhook.id, subject, payload: null }
  const payload = webhookRenderers.webhookPayload(rendering)(
    { ...event, generation: 1, attempts: 1, attemptsLeft: 9, nextAt: AT },
    webhook,
  )
  return {
    ...delivery,
    url: webhook.url,
    requestHeaders: { 'content-type': 'application/json' },
    payload: JSON.stringify(payload),
    response: { headers: { 'content-type': 'text/plain' }, body: 'thanks' },
  }
}

function exampleValues(rendering: Rendering) {
  const { addresses } = rendering
  const errorJson = (status: number, message: string, more = {}) => ({
    message,
    ...more,
    documentation_url: addresses.documentation,
    status: String(status),
  })
  const httpError = ({ status, message }: httpErrors.HttpError) => errorJson(status, message)
  const core = { limit: 5000, remaining: 4958, used: 42, reset: AT / 1000, resource: 'core' }
  const unserved = UNSERVED_RESOURCES.map((resource) => [
    resource,
    { ...core, limit: 0, remaining: 0, used: 0, resource },
  ])
  const owner = { account: octo, role: 'owner' } as const
  const membership = organizationRenderers.membershipJson(owner, alice, addresses)
  const errors = [{ resource: 'Migration', field: 'repositories', code: 'missing', index: 1 }]
  return {
    started: migrationRenderers.migrationJson(pending, [atlas], rendering),
    migration: migrationRenderers.migrationJson(exported, [atlas], rendering),
    migrations: [migrationRenderers.migrationJson(exported, [atlas], rendering)],
    repositories: [repositoryRenderers.plainRepositoryJson(atlas, addresses)],
    'own-repositories': [repositoryRenderers.extendedRepositoryJson(atlas, addresses)],
    'full-repository': repositoryRenderers.fullRepositoryJson(atlas, { problem: null }, addresses),
    branches: [
      repositoryRenderers.branchJson(indexed, { name: 'main', commit: COMMIT }, addresses),
    ],
    tags: [repositoryRenderers.tagJson(indexed, { name: 'v1.0.0', commit: COMMIT }, addresses)],
    topics: { names: atlas.topics },
    languages: { TypeScript: 48212, CSS: 2109 },
    collaborators: [repositoryRenderers.collaboratorJson(collaborator, addresses)],
    'collaborator-permission': repositoryRenderers.collaboratorPermissionJson(
      collaborator,
      addresses,
    ),
    'license-content': repositoryRenderers.licenseContentJson(indexed, licenseFile, addresses),
    licenses: [licenseJson('MIT', addresses)],
    'license-text': licenseTextJson('MIT', LICENSE_TEXT, addresses),
    versions: API_VERSIONS,
    cancelled: migrationRenderers.migrationJson(cancelled, [], rendering),
    progress: progressRenderers.progressJson(progress, AT + 1000),
    report: progressRenderers.reportJson(
      reportOf(exported, progress, { damaged: [], now: AT + 1000 }),
      AT + 1000,
    ),
    forecast: progressRenderers.forecastJson(forecast),
    quota: progressRenderers.quotaJson(forecast.quota),
    'retry-forecast': progressRenderers.retryForecastJson({
      broken: [
        {
          fullName: 'alice/atlas',
          reason: 'an object is missing',
          isMissing: false,
          isChanged: false,
        },
      ],
      isUnchanged: true,
    }),
    summary: migrationRenderers.summaryJson(summary),
    summaries: [migrationRenderers.summaryJson(summary)],
    schedule: scheduleJson(schedule, history, addresses),
    schedules: [scheduleJson(schedule, history, addresses)],
    'schedule-run': scheduleRunJson({ ...run, dueAt: null, state: 'pending', skipped: [] }),
    'schedule-runs': [scheduleRunJson(run)],
    locks: [migrationRenderers.lockJson(lock)],
    'own-locks': [migrationRenderers.lockWithMigrationJson({ ...lock, holder: 'bob' })],
    'archive-link': migrationRenderers.archiveLinkJson(summary, link),
    'current-user': currentUserJson(alice, 1, addresses),
    session: {
      user: currentUserJson(alice, 1, addresses),
      organization: null,
      tokens_managed_until: utcTimestamp(AT + 900_000),
    },
    users: [userJson(alice, addresses)],
    organizations: [organizationRenderers.organizationJson(octo, addresses)],
    'full-organization': organizationRenderers.fullOrganizationJson(octo, 1, addresses),
    'organization-membership': membership,
    'organization-memberships': [membership],
    webhook: webhookRenderers.webhookJson(webhook, addresses),
    webhooks: [webhookRenderers.webhookJson(webhook, addresses)],
    'webhook-config': webhookRenderers.webhookConfigJson(webhook),
    'webhook-deliveries': [webhookRenderers.deliveryJson(delivery)],
    'webhook-delivery': webhookRenderers.fullDeliveryJson(fullDelivery(rendering)),
    accepted: {},
    tokens: [tokenJson(token, { tokenId: 3 })],
    'new-token': { ...tokenJson(token, { tokenId: 3 }), token: 'gwt_…' },
    'audit-entries': [auditEntryJson(auditEntry)],
    'service-state': serviceStateJson(serviceState, storage, '1.0.0'),
    'sync-report': { repositories: 1, changed: 1, removed: 0, failed: [] },
    'rate-limit': { resources: { core, ...Object.fromEntries(unserved) }, rate: core },
    root: rootJson(addresses, 'github', null),
    meta: { verifiable_password_authentication: false },
    healthy: { status: 'ok' },
    waiting: { status: 'unavailable', waiting_for: ['catalogue'] },
    'bad-request': httpError(httpErrors.unparsableBody()),
    unauthenticated: httpError(httpErrors.requiresAuthentication()),
    forbidden: httpError(httpErrors.rateLimited(alice)),
    'archive-damaged': httpError(httpErrors.archiveDamaged(['alice/atlas'])),
    'link-invalid': httpError(httpErrors.invalidLink()),
    'not-found': errorJson(404, 'Not Found'),
    'too-large': httpError(httpErrors.bodyTooLarge()),
    'not-acceptable': httpError(httpErrors.previewMissing()),
    invalid: errorJson(422, 'Validation Failed', { errors }),
    'invalid-query': errorJson(422, 'Validation Failed', {
      errors: [{ resource: 'Repository', field: 'sort', code: 'invalid' }],
    }),
    'request-timeout': httpError(httpErrors.requestTimeout()),
    'too-many-requests': httpError(httpErrors.tooManyRequests()),
    unavailable: httpError(httpErrors.unavailable()),
    'server-error': errorJson(500, 'Server Error'),
  }
}
