import type { Command } from 'commander'
import { createAuthenticator } from '../accounts/authenticator.ts'
import type { Config } from '../config.ts'
import { lockDataDirectory } from '../db/data-directory-lock.ts'
import { addressesFrom } from '../http/addresses.ts'
import { createServer } from '../http/server.ts'
import { offsetTimestamps } from '../http/timestamps.ts'
import { type SyncParts, syncCatalogue } from '../repositories/sync.ts'
import { addCommand, configOf, print, UserMistake } from './command-line.ts'
import { type Log, openLog } from './log.ts'
import { openDatabase, openSource } from './parts.ts'
import { repeatedly } from './repeatedly.ts'
import { untilStopSignal } from './stop-signal.ts'

const NOTE_TOKEN_USE_EVERY_MS = 10_000
const NEVER = 2 ** 31 - 1

export function serveCommand(program: Command): void {
  addCommand(program, 'serve', 'runs the service').action(async (_options, command: Command) => {
    const config = configOf(command)
    const logging = openLog(config.logLevel)
    const stopped = untilStopSignal()
    const service = await startService(config, logging)
    print(`Godwit is listening at ${service.address}`)
    await stopped
    await service.stop()
    logging.close()
  })
}

interface Service {
  address: string
  stop(): Promise<void>
}

/** Builds the parts from the ground up; stopping takes them down in reverse. */
async function startService(config: Config, { log }: Log): Promise<Service> {
  if (!config.repositories) throw new UserMistake('--repositories DIR: say which repositories')
  const source = openSource(config, config.repositories)
  await using parts = new AsyncDisposableStack()

  if (!config.databaseUrl) parts.defer(lockDataDirectory(config.data))
  const { db, close } = await openDatabase(config, (err) => log.warn({ err }, 'lost a connection'))
  parts.defer(close)

  const now = Date.now
  const authenticator = createAuthenticator({ db, now })
  parts.defer(authenticator.noteUses)
  const notes = repeatedly(authenticator.noteUses, NOTE_TOKEN_USE_EVERY_MS, (err) =>
    log.error({ err }, 'could not note the use of tokens'),
  )
  parts.defer(notes.stop)

  const catalogue = keepCatalogue({ db, source, now }, config.syncInterval, log)
  parts.defer(catalogue.stop)

  const app = createServer({
    db,
    source,
    now,
    authenticator,
    log,
    mostUnfinished: config.unfinishedMigrations,
    rendering: {
      addresses: addressesFrom(config),
      migrationTime: offsetTimestamps(config.timeZone),
    },
    mediaType: config,
    trustedProxies: config.trustedProxies ?? [],
    isCatalogueRead: catalogue.isRead,
  })
  parts.defer(() => app.close())
  const address = await app.listen(config.listen)

  const started = parts.move()
  return { address, stop: () => started.disposeAsync() }
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
