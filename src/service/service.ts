import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { recordAccess, viewerAsActor } from '../accounts/audit-log.ts'
import { createAuthenticator } from '../accounts/authenticator.ts'
import { signingKey } from '../db/secret-store.ts'
import { ownStoreProbe } from '../exporter/own-store.ts'
import { archiveLinks } from '../http/credentials/archive-links.ts'
import { type CloneTokens, cloneTokens } from '../http/credentials/clone-tokens.ts'
import { readDashboard } from '../http/pages/dashboard-files.ts'
import { offsetTimestamps } from '../http/rendering/rendering.ts'
import type { OidcClient } from '../http/routes/sessions/oidc-client.ts'
import { createServer } from '../http/server.ts'
import { codeOf } from '../lib/errno.ts'
import { createAddressFilter } from '../lib/outgoing-requests/address-filter.ts'
import { repeatedly } from '../lib/timers.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import type { Config } from '../settings/config.ts'
import type { Listen } from '../settings/config-values.ts'
import { requireRepositories } from './data-paths.ts'
import { retryWhileDatabaseIsDown } from './database-errors.ts'
import { startHeartbeat } from './heartbeat.ts'
import type { Log } from './log.ts'
import type { OidcParts } from './oidc-client.ts'
import { isReadableByAll, openForgeSignIn } from './open-forge.ts'
import { openProcessParts, type ProcessParts, releaseMemoryOnce } from './process-parts.ts'
import { startExporter } from './start-exporter.ts'
import { VERSION } from './version.ts'

/** Beside `src` in a checkout, beside the compiled code in the package. */
const DASHBOARD_DIRECTORY = fileURLToPath(new URL('../../web/dist', import.meta.url))
const RECORD_TOKEN_USE_INTERVAL_MS = 10_000

export interface Service {
  address: string
  /** A message to print once the service runs. */
  notice?: string
  stop(): Promise<void>
}

/** Starts the API and, unless the role is `api`, the exporter. */
export async function startService(config: Config, logging: Log): Promise<Service> {
  checkRole(config)
  return retryWhileDatabaseIsDown(config, logging.log, () => startOnce(config, logging))
}

async function startOnce(config: Config, logging: Log): Promise<Service> {
  await using stack = new AsyncDisposableStack()
  const parts = await openProcessParts(config, logging, stack)
  const exporter = config.role === 'all' ? await startExporter(config, parts) : undefined
  if (exporter) stack.defer(exporter.stop)

  const { db, pool, addresses } = parts
  const { baseUrl, webUrl, cloneUrl, sshUrl, timeZone } = config
  const cloneTokens = await openCloneTokens(config, parts, stack)
  const clonable = cloneTokens.isServed ? 'clonable' : ''
  const app = createServer({
    ...parts,
    authenticator: openAuthenticator(stack, parts),
    sessionTtlMs: config.sessionTtl,
    oidc: await openOidc(config, parts),
    userHeader: config.userHeader,
    signInName: config.oidcName,
    mayCreateAccounts: config.oidcCreate === 'yes',
    links: archiveLinks(baseUrl, await signingKey(db, 'link-key'), config.linkTtl),
    maxUnfinished: config.maxUnfinishedMigrations,
    maxArchiveBytes: config.maxArchiveBytes,
    maxSchedules: config.maxSchedules,
    maxTokens: config.maxTokens,
    lockTtlMs: config.lockTtl,
    rendering: {
      addresses,
      migrationTime: offsetTimestamps(timeZone),
      edition: editionOf([VERSION, baseUrl, webUrl, cloneUrl, sshUrl, timeZone, clonable]),
    },
    mediaType: config,
    rateLimit: { perHour: config.rateLimit, pool },
    requestLimits: {
      maxConnections: maxConnections(),
      maxRequests: config.maxRequests,
      maxStreams: config.maxStreams,
      maxStreamsPerAccount: config.maxStreamsPerAccount ?? Math.ceil(config.maxStreams / 10),
      clientTimeoutMs: config.clientTimeout,
    },
    cloneSlots: { max: config.maxClones },
    cloneTokens,
    trustedProxies: config.trustedProxies ?? [],
    probeOwnStore: ownStoreProbe(db, parts.blobs),
    ...(parts.forge && { probeForge: parts.forge.probe }),
    isWebhookAllowed: createAddressFilter(config.webhookNetworks ?? []),
    version: VERSION,
    installedVersion: config.installedVersion,
    dashboard: await readDashboard(DASHBOARD_DIRECTORY),
  })
  stack.defer(async () => {
    // The exporter stops immediately, because downloads may take long to end. Its own deferred stop reports an error.
    exporter?.stop().catch(() => {})
    await app.close()
  })
  const address = await app.listen(config.listen).catch((error: unknown) => {
    throw explainListenError(error, config.listen)
  })
  const concurrency = exporter ? config.concurrency : 0
  startHeartbeat(parts, { role: config.role, concurrency, scratch: exporter?.scratch }, stack)
  releaseMemoryOnce(parts, stack)

  const started = stack.move()
  return { address, stop: () => started.disposeAsync() }
}

function explainListenError(error: unknown, { host, port }: Listen): unknown {
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

function checkRole(config: Config): void {
  if (config.role === 'all') requireRepositories(config)
  else if (config.databaseUrl === undefined) {
    throw new UsageError('--role api needs --database-url: it shares the database with workers')
  }
}

function openAuthenticator(stack: AsyncDisposableStack, parts: ProcessParts) {
  const { db, now, log } = parts
  const authenticator = createAuthenticator({
    db,
    now,
    forge: openForgeSignIn(parts),
    onExpired: (viewer, address) =>
      recordAccess(parts, { ...viewerAsActor(viewer), address }, 'token.use_after_expiry', {
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
const editionOf = (options: readonly string[]): string =>
  hash('sha256', JSON.stringify(options), 'base64url').slice(0, 16)

const READ_KEY_INTERVAL_MS = 10_000

/** Returns the signer of clone tokens. Its key is read regularly, so that a replaced key takes effect without a restart. */
export async function openCloneTokens(
  config: Config,
  { db, now, log, source }: ProcessParts,
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
  const isServed = source !== undefined && config.maxClones > 0 && isClonedHere(config)
  return cloneTokens({ key: () => key, now, isServed })
}

/** Returns whether clone URLs lead to this server. Otherwise clone tokens would be sent to a third party, for which they are useless. */
const isClonedHere = ({ baseUrl, cloneUrl }: Config): boolean =>
  cloneUrl.replace(/\.git$/, '') === `${baseUrl}/{owner}/{name}`

/** Opens the OpenID provider of `--oidc-issuer`, if there is one. Sends no request yet, since the provider may be unavailable. */
export async function openOidc(config: Config, parts: OidcParts): Promise<OidcClient | undefined> {
  const { oidcIssuer, oidcClientId: clientId, oidcClientSecretFile: file } = config
  if (oidcIssuer === undefined || clientId === undefined || file === undefined) return undefined
  const secret = await readSecret(file)
  if (await isReadableByAll(file))
    parts.log.warn({ file }, 'every user of this machine can read the secret of the OpenID client')
  // Loaded on demand: most hosts have no OpenID provider.
  const { createOidcClient } = await import('./oidc-client.ts')
  return createOidcClient(config, { issuer: new URL(oidcIssuer), clientId, secret }, parts)
}

async function readSecret(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UserError(`--oidc-client-secret-file: cannot read ${file}: ${codeOf(error)}`)
  })
  if (text.trim() === '') throw new UserError(`--oidc-client-secret-file: ${file} is empty`)
  return text.trim()
}
