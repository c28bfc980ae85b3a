import { createAuthenticator } from '../accounts/authenticator.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/connect.ts'
import { lockDataDirectory } from '../db/data-directory-lock.ts'
import { archiveLinks } from '../http/archive-link.ts'
import { createServer } from '../http/server.ts'
import { offsetTimestamps } from '../http/timestamps.ts'
import { linkKey } from '../migrations/secret-store.ts'
import { embeddedQueue } from '../queue/embedded.ts'
import { addressesFrom } from '../repositories/addresses.ts'
import { type SyncParts, syncCatalogue } from '../repositories/sync.ts'
import type { Log } from './log.ts'
import { exportPlaces, openBlobs, openDatabase, openSource, requireRepositories } from './parts.ts'
import { repeatedly } from './repeatedly.ts'
import { startExporter } from './run-exporter.ts'
import { VERSION } from './version.ts'

const NOTE_TOKEN_USE_EVERY_MS = 10_000
const NEVER = 2 ** 31 - 1

export interface Service {
  address: string
  /** For people, once it runs. */
  notice?: string
  stop(): Promise<void>
}

/** Builds the parts from the ground up; stopping takes them down in reverse. */
export async function startService(config: Config, { log }: Log): Promise<Service> {
  const places = exportPlaces(config, requireRepositories(config))
  await using parts = new AsyncDisposableStack()

  const isAlone = config.databaseUrl === undefined
  if (isAlone) parts.defer(lockDataDirectory(config.data))
  const { db, pool, close } = await openDatabase(config, (err) =>
    log.warn({ err }, 'lost a connection'),
  )
  parts.defer(close)

  const now = Date.now
  const source = openSource(places)
  const blobs = openBlobs(places)
  const queue = embeddedQueue({ db })
  const { baseUrl, webUrl, cloneUrl, sshUrl } = config
  const addresses = addressesFrom(config)
  const authenticator = keepTokens(parts, db, log)
  const catalogue = keepCatalogue({ db, source, now }, config.syncInterval, log)
  parts.defer(catalogue.stop)
  const common = { db, source, blobs, queue, now, addresses, log }
  parts.defer(await startExporter(config, places, { ...common, isAlone }))

  const app = createServer({
    ...common,
    authenticator,
    links: archiveLinks(config.baseUrl, await linkKey(db)),
    mostUnfinished: config.unfinishedMigrations,
    lockTtlMs: config.lockTtl,
    rendering: {
      addresses,
      migrationTime: offsetTimestamps(config.timeZone),
      edition: [VERSION, baseUrl, webUrl, cloneUrl, sshUrl, config.timeZone].join(' '),
    },
    mediaType: config,
    rateLimit: { perHour: config.rateLimit, pool },
    trustedProxies: config.trustedProxies ?? [],
    isCatalogueRead: catalogue.isRead,
  })
  parts.defer(() => app.close())
  const address = await app.listen(config.listen)

  const started = parts.move()
  return { address, stop: () => started.disposeAsync() }
}

function keepTokens(parts: AsyncDisposableStack, db: Db, log: Log['log']) {
  const authenticator = createAuthenticator({ db, now: Date.now })
  parts.defer(authenticator.noteUses)
  const notes = repeatedly(authenticator.noteUses, NOTE_TOKEN_USE_EVERY_MS, (err) =>
    log.error({ err }, 'could not note the use of tokens'),
  )
  parts.defer(notes.stop)
  return authenticator
}

/** Reads the catalogue at once, in the background, and again at every interval. */
function keepCatalogue(parts: SyncParts, intervalMs: number, log: Log['log']) {
  let isRead = false
  async function sync(): Promise<void> {
    const { broken, refused, ...counts } = await syncCatalogue(parts)
    isRead = true
    for (const repository of broken) log.warn(repository, 'a repository cannot be read')
    for (const entry of refused) log.warn(entry, 'not taken as a repository')
    log.info(counts, 'catalogue in line with the repositories')
  }
  const { stop } = repeatedly(sync, intervalMs || NEVER, (err) => log.error({ err }, 'sync failed'))
  return { stop, isRead: () => isRead }
}
