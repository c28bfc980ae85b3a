import { hash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createAuthenticator } from '../accounts/authenticator.ts'
import { offsetTimestamps } from '../http/middleware/timestamps.ts'
import { readDashboard } from '../http/pages/dashboard-files.ts'
import { archiveLinks } from '../http/routes/migrations/archive-download.ts'
import { createServer } from '../http/server.ts'
import { repeatedly } from '../lib/repeatedly.ts'
import { UsageError, UserError } from '../lib/user-error.ts'
import { signingKey } from '../migrations/secret-store.ts'
import type { Config } from '../settings/config.ts'
import type { Listen } from '../settings/config-values.ts'
import { addressesAllowed } from '../webhooks/allowed-addresses.ts'
import { keepCloneTokens } from './clone-key.ts'
import { openForgeSignIn } from './forge-tokens.ts'
import { keepHeartbeat } from './heartbeat.ts'
import type { Log } from './log.ts'
import { probeWrite } from './probe-write.ts'
import { openProcessParts, type ProcessParts } from './process-parts.ts'
import { requireRepositories } from './requirements.ts'
import { startExporter } from './start-exporter.ts'
import { VERSION } from './version.ts'
import { retryWhileDatabaseIsDown } from './wait-for-database.ts'

/** Beside the source, or beside what was compiled from it. */
const BUILT_DASHBOARD = fileURLToPath(new URL('../../web/dist', import.meta.url))
const NOTE_TOKEN_USE_EVERY_MS = 10_000
/** Proxies give up on a server that has said nothing for a minute. */
const CLONE_WAIT_MS = 45_000

export interface Service {
  address: string
  /** For people, once it runs. */
  notice?: string
  stop(): Promise<void>
}

/** The API and, unless its role is `api` alone, the exporter. */
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
  const cloneTokens = await keepCloneTokens(config, parts, stack)
  const clonable = cloneTokens.isServed ? 'clonable' : ''
  const app = createServer({
    ...parts,
    authenticator: keepTokens(stack, parts),
    links: archiveLinks(baseUrl, await signingKey(db, 'link-key'), config.linkTtl),
    maxUnfinished: config.maxUnfinishedMigrations,
    maxSchedules: config.maxSchedules,
    lockTtlMs: config.lockTtl,
    rendering: {
      addresses,
      migrationTime: offsetTimestamps(timeZone),
      edition: editionOf([VERSION, baseUrl, webUrl, cloneUrl, sshUrl, timeZone, clonable]),
    },
    mediaType: config,
    rateLimit: { perHour: config.rateLimit, pool },
    limits: {
      maxConnections: maxConnections(),
      maxRequests: config.maxRequests,
      maxStreams: config.maxStreams,
      maxStreamsPerAccount: config.maxStreamsPerAccount ?? Math.ceil(config.maxStreams / 10),
      clientTimeoutMs: config.clientTimeout,
    },
    cloneSlots: { max: config.maxClones, waitMs: CLONE_WAIT_MS },
    cloneTokens,
    trustedProxies: config.trustedProxies ?? [],
    ...(keepsData(config) && { probeData: () => probeWrite(config.data) }),
    isWebhookAllowed: addressesAllowed(config.webhookNetworks ?? []),
    version: VERSION,
    installedVersion: config.installedVersion,
    dashboard: await readDashboard(BUILT_DASHBOARD),
  })
  stack.defer(async () => {
    // Begun already now, for a download may take long to end; how it ends is told where it is deferred.
    exporter?.stop().catch(() => {})
    await app.close()
  })
  const address = await app.listen(config.listen).catch((error: unknown) => {
    throw explainedListening(error, config.listen)
  })
  const concurrency = exporter ? config.concurrency : 0
  keepHeartbeat(parts, { role: config.role, concurrency, scratch: exporter?.scratch }, stack)

  const started = stack.move()
  return { address, stop: () => started.disposeAsync() }
}

/** Whether the database or the archives are in the data directory. */
const keepsData = ({ databaseUrl, blobs }: Config): boolean =>
  databaseUrl === undefined || blobs === undefined

function explainedListening(error: unknown, { host, port }: Listen): unknown {
  const { code } = error as { code?: string }
  const why = code === undefined ? undefined : WHY_NOT_LISTENING[code]
  return why ? new UserError(`--listen ${host}:${port}: ${why}`, { cause: error }) : error
}

const WHY_NOT_LISTENING: Record<string, string> = {
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

function keepTokens(stack: AsyncDisposableStack, parts: ProcessParts) {
  const { db, now, log } = parts
  const authenticator = createAuthenticator({ db, now, forge: openForgeSignIn(parts) })
  stack.defer(authenticator.noteUses)
  const notes = repeatedly(authenticator.noteUses, NOTE_TOKEN_USE_EVERY_MS, (err) =>
    log.error({ err }, 'could not record the use of tokens'),
  )
  stack.defer(notes.stop)
  return authenticator
}

const MAX_CONNECTIONS = 10_000

/** Connections must leave file handles for the database, for archives and for gits. */
function maxConnections(): number {
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  const openFiles = /^Max open files +(\d+)/m.exec(limits)?.[1]
  return openFiles ? Math.min(MAX_CONNECTIONS, Math.ceil(Number(openFiles) / 2)) : MAX_CONNECTIONS
}

/** Short: it is part of every validator. */
function editionOf(whatRenderingDependsOn: readonly string[]): string {
  return hash('sha256', JSON.stringify(whatRenderingDependsOn), 'base64url').slice(0, 16)
}
