import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { codeOf } from '@godwit/lib/errno'
import { createAddressFilter } from '@godwit/lib/outgoing-requests/address-filter'
import { repeatedly } from '@godwit/lib/timers'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { recordAccess, viewerAsActor } from '../accounts/audit-log.ts'
import { createAuthenticator } from '../accounts/authenticator.ts'
import { signingKey } from '../db/secret-store.ts'
import { storeOwnerProbe } from '../exporter/blob-store-owner.ts'
import { archiveLinks } from '../http/credentials/archive-links.ts'
import { type CloneTokens, cloneTokens } from '../http/credentials/clone-tokens.ts'
import { readDashboard } from '../http/pages/dashboard-files.ts'
import { offsetTimestamps } from '../http/rendering/rendering.ts'
import type { OidcClient } from '../http/routes/sessions/oidc-client.ts'
import { createServer } from '../http/server.ts'
import { requireRepositories } from './data-paths.ts'
import { retryWhileDatabaseIsDown } from './database-errors.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { Log } from './log.ts'
import type { OidcClientSettings, OidcDependencies } from './oidc-client.ts'
import { isReadableByAll, openForgeSignIn } from './open-configured-forge.ts'
import {
  openProcessDependencies,
  type ProcessDependencies,
  releaseMemoryOnce,
} from './process-dependencies.ts'
import { startExporter, type WorkerSettings } from './start-exporter.ts'
import { VERSION } from './version.ts'

const RECORD_TOKEN_USE_INTERVAL_MS = 10_000

/** Durations are in milliseconds. */
export interface ServiceSettings extends WorkerSettings, OidcSettings {
  role: 'all' | 'api'
  listen: { host: string; port: number }
  s3PublicEndpoint: string | undefined
  trustedProxies: string[] | undefined
  userHeader: string | undefined
  oidcName: string
  oidcCreate: 'yes' | 'no'
  vendor: string
  preview: 'required' | 'optional'
  installedVersion: string | undefined
  sessionTtl: number
  linkTtl: number
  clientTimeout: number
  rateLimit: number
  maxRequests: number
  maxStreams: number
  maxStreamsPerAccount: number | undefined
  maxClones: number
  maxSchedules: number
  maxTokens: number
}

export interface Service {
  address: string
  /** A message to print once the service runs. */
  notice?: string
  stop(): Promise<void>
}

export interface ServiceOptions {
  logging: Log
  /** The directory with the built pages. If it does not exist, the service has no dashboard. */
  dashboard: string
}

/** Starts the API and, unless the role is `api`, the exporter. */
export async function startService(
  settings: ServiceSettings,
  options: ServiceOptions,
): Promise<Service> {
  checkRole(settings)
  return retryWhileDatabaseIsDown(settings, options.logging.log, () => startOnce(settings, options))
}

async function startOnce(
  settings: ServiceSettings,
  { logging, dashboard }: ServiceOptions,
): Promise<Service> {
  await using stack = new AsyncDisposableStack()
  const dependencies = await openProcessDependencies(settings, logging, stack)
  const exporter = settings.role === 'all' ? await startExporter(settings, dependencies) : undefined
  if (exporter) stack.defer(exporter.stop)

  const { db, pool, addresses } = dependencies
  const { baseUrl, webUrl, cloneUrl, sshUrl, timeZone } = settings
  const cloneTokens = await openCloneTokens(settings, dependencies, stack)
  const clonable = cloneTokens.isServed ? 'clonable' : ''
  const app = createServer({
    ...dependencies,
    authenticator: openAuthenticator(stack, dependencies),
    sessionTtlMs: settings.sessionTtl,
    oidc: await openOidc(settings, dependencies),
    userHeader: settings.userHeader,
    signInName: settings.oidcName,
    mayCreateAccounts: settings.oidcCreate === 'yes',
    links: archiveLinks(baseUrl, await signingKey(db, 'link-key'), settings.linkTtl),
    maxUnfinished: settings.maxUnfinishedMigrations,
    maxArchiveBytes: settings.maxArchiveBytes,
    maxSchedules: settings.maxSchedules,
    maxTokens: settings.maxTokens,
    lockTtlMs: settings.lockTtl,
    rendering: {
      addresses,
      migrationTime: offsetTimestamps(timeZone),
      renderingVersion: renderingVersionOf([
        VERSION,
        baseUrl,
        webUrl,
        cloneUrl,
        sshUrl,
        timeZone,
        clonable,
      ]),
    },
    mediaType: settings,
    rateLimit: { perHour: settings.rateLimit, pool },
    requestLimits: {
      maxConnections: maxConnections(),
      maxRequests: settings.maxRequests,
      maxStreams: settings.maxStreams,
      maxStreamsPerAccount: settings.maxStreamsPerAccount ?? Math.ceil(settings.maxStreams / 10),
      clientTimeoutMs: settings.clientTimeout,
    },
    cloneSlots: { max: settings.maxClones },
    cloneTokens,
    trustedProxies: settings.trustedProxies ?? [],
    probeStoreOwner: storeOwnerProbe(db, dependencies.blobs),
    ...(dependencies.forge && { probeForge: dependencies.forge.probe }),
    isWebhookAllowed: createAddressFilter(settings.webhookNetworks ?? []),
    version: VERSION,
    installedVersion: settings.installedVersion,
    dashboard: await readDashboard(dashboard),
  })
  stack.defer(async () => {
    // The exporter stops immediately, because downloads may take long to end. Its own deferred stop reports an error.
    exporter?.stop().catch(() => {})
    await app.close()
  })
  const address = await app.listen(settings.listen).catch((error: unknown) => {
    throw explainListenError(error, settings.listen)
  })
  const concurrency = exporter ? settings.concurrency : 0
  startHeartbeat(
    dependencies,
    { role: settings.role, concurrency, scratch: exporter?.scratch },
    stack,
  )
  releaseMemoryOnce(dependencies, stack)

  const started = stack.move()
  return { address, stop: () => started.disposeAsync() }
}

function explainListenError(error: unknown, { host, port }: ServiceSettings['listen']): unknown {
  const { code } = error as { code?: string }
  const reason = code === undefined ? undefined : LISTEN_ERRORS[code]
  return reason ? new UserError(`--listen ${host}:${port}: ${reason}`, { cause: error }) : error
}

const LISTEN_ERRORS: Record<string, string> = {
  EADDRINUSE: 'address already in use; stop the other program, or use another port',
  EADDRNOTAVAIL: 'this machine does not have this address; use 0.0.0.0 for all addresses',
  EACCES: 'this user may not listen on this port; use a port above 1023',
  ENOTFOUND: 'no such host',
}

function checkRole(settings: ServiceSettings): void {
  if (settings.role === 'all') requireRepositories(settings.repositories)
  else if (settings.databaseUrl === undefined) {
    throw new UsageError('--role api needs --database-url: it shares the database with workers')
  }
}

function openAuthenticator(stack: AsyncDisposableStack, dependencies: ProcessDependencies) {
  const { db, now, log } = dependencies
  const authenticator = createAuthenticator({
    db,
    now,
    forge: openForgeSignIn(dependencies),
    onExpired: (viewer, address) =>
      recordAccess(dependencies, { ...viewerAsActor(viewer), address }, 'token.use_after_expiry', {
        outcome: 'refused',
      }),
  })
  stack.defer(authenticator.recordUses)
  const recording = repeatedly(authenticator.recordUses, RECORD_TOKEN_USE_INTERVAL_MS, (err) =>
    log.error({ err }, 'could not record the use of tokens'),
  )
  stack.defer(recording.stop)
  return authenticator
}

const MAX_CONNECTIONS = 10_000

/** Half of the open files are left for the database, for archives and for git. */
function maxConnections(): number {
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  const openFiles = /^Max open files +(\d+)/m.exec(limits)?.[1]
  return openFiles ? Math.min(MAX_CONNECTIONS, Math.ceil(Number(openFiles) / 2)) : MAX_CONNECTIONS
}

/** Returns a short hash of everything that the rendering depends on. It is part of every ETag. */
const renderingVersionOf = (options: readonly string[]): string =>
  hash('sha256', JSON.stringify(options), 'base64url').slice(0, 16)

const READ_KEY_INTERVAL_MS = 10_000

type CloneSettings = Pick<ServiceSettings, 'baseUrl' | 'cloneUrl' | 'maxClones'>

/** Returns the signer of clone tokens. Its key is read regularly, so that a replaced key takes effect without a restart. */
export async function openCloneTokens(
  settings: CloneSettings,
  { db, now, log, source }: ProcessDependencies,
  stack: AsyncDisposableStack,
): Promise<CloneTokens> {
  let key = await signingKey(db, 'clone-key')
  async function readKey(): Promise<void> {
    const latest = await signingKey(db, 'clone-key')
    // An equal key is not assigned: cached clone tokens are valid for the same object.
    if (!latest.equals(key)) key = latest
  }
  const reading = repeatedly(readKey, READ_KEY_INTERVAL_MS, (err) =>
    log.error({ err }, 'could not read the key of clone tokens'),
  )
  stack.defer(reading.stop)
  const isServed = source !== undefined && settings.maxClones > 0 && isClonedHere(settings)
  return cloneTokens({ key: () => key, now, isServed })
}

/** Returns whether clone URLs lead to this server. Otherwise clone tokens would be sent to a third party, for which they are useless. */
const isClonedHere = ({ baseUrl, cloneUrl }: CloneSettings): boolean =>
  cloneUrl.replace(/\.git$/, '') === `${baseUrl}/{owner}/{name}`

interface OidcSettings extends OidcClientSettings {
  oidcClientId: string | undefined
  oidcClientSecretFile: string | undefined
}

/** Opens the OpenID provider of `--oidc-issuer`, if there is one. Sends no request yet, since the provider may be unavailable. */
export async function openOidc(
  settings: OidcSettings,
  dependencies: OidcDependencies,
): Promise<OidcClient | undefined> {
  const { oidcIssuer, oidcClientId: clientId, oidcClientSecretFile: file } = settings
  if (oidcIssuer === undefined || clientId === undefined || file === undefined) return undefined
  const secret = await readSecret(file)
  if (await isReadableByAll(file))
    dependencies.log.warn(
      { file },
      'every user of this machine can read the secret of the OpenID client',
    )
  // Loaded on demand: most hosts have no OpenID provider.
  const { createOidcClient } = await import('./oidc-client.ts')
  return createOidcClient(settings, { issuer: new URL(oidcIssuer), clientId, secret }, dependencies)
}

async function readSecret(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`--oidc-client-secret-file: cannot read ${file}: ${codeOf(error)}`)
  })
  if (text.trim() === '') throw new UserError(`--oidc-client-secret-file: ${file} is empty`)
  return text.trim()
}
