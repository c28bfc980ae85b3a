import { flushCompileCache } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageError } from '@godwit/lib/user-error'
import type { Service, ServiceOptions } from '@godwit/server'
import { requireRepositories } from '@godwit/server/service/data-paths'
import { type Log, openLog } from '@godwit/server/service/log'
import type { Command } from 'commander'
import { describeExposedSecrets } from '../settings/config-file.ts'
import { addCommandWithoutJson, readServiceConfig } from './command-line.ts'
import { outputFailure, print } from './print.ts'
import { SERVE, type ServiceConfig, WORK, type WorkerConfig } from './service-settings.ts'
import { untilStopSignal } from './stop-signal.ts'

export function serveCommand(program: Command, about: string): void {
  const command = addCommandWithoutJson(
    program,
    'serve',
    about,
    [
      'godwit serve                             # a sample git host, to try it',
      'godwit serve --repositories /srv/git --data /var/lib/godwit',
      'godwit serve --repositories /srv/git --base-url https://migrations.example.com',
    ],
    SERVE,
  )
  command.action(async (_options, command: Command) => {
    const config = readServiceConfig(command, SERVE)
    const logging = startLog(config)
    const stopped = untilStopSignal()
    const service = await start(config, { logging, dashboard: DASHBOARD })
    print(`Godwit is listening at ${service.address}`)
    if (service.notice) print(service.notice)
    // Without this, bin/godwit's compile cache is written only at exit, and a killed service would start half as fast next time.
    flushCompileCache()
    await stoppedOrOutputFailed(stopped)
    await service.stop()
    await logging.close()
  })
}

/** Where `npm ci` and `npm pack` put the built pages. */
export const DASHBOARD = dirname(
  fileURLToPath(import.meta.resolve('@godwit/dashboard/dist/index.html')),
)

/** Imports the service here, so that the help does not load the web framework. */
async function start(config: ServiceConfig, options: ServiceOptions): Promise<Service> {
  if (config.repositories !== undefined || config.databaseUrl !== undefined)
    return (await import('@godwit/server')).startService(config, options)
  return (await import('./sample.ts')).startSample(config, options)
}

export function workCommand(program: Command, about: string): void {
  const example =
    'godwit work --repositories /srv/git --database-url postgres://db/godwit --blobs s3://archives'
  const command = addCommandWithoutJson(program, 'work', about, [example], WORK)
  command.action(async (_options, command: Command) => {
    const config = readServiceConfig(command, WORK)
    requireRepositories(config.repositories)
    if (config.databaseUrl === undefined)
      throw new UsageError('`work` needs --database-url: it shares the database with API processes')
    const logging = startLog(config)
    const stopped = untilStopSignal()
    const { startWorker } = await import('@godwit/server/service/start-exporter')
    await using worker = await startWorker(config, logging)
    print('Godwit is running as a worker')
    await stoppedOrOutputFailed(stopped)
    await worker.disposeAsync()
    await logging.close()
  })
}

function startLog(config: WorkerConfig): Log {
  const logging = openLog(config)
  const exposed = describeExposedSecrets(config.file)
  if (exposed) logging.log.warn(exposed)
  return logging
}

/** Waits for the signal, or returns at once if standard output has failed. */
async function stoppedOrOutputFailed(stopped: Promise<unknown>): Promise<void> {
  const error = await Promise.race([outputFailure(), stopped.then(() => undefined)])
  if (!error) await stopped
}
