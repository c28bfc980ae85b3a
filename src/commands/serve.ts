import { flushCompileCache } from 'node:module'
import type { Command } from 'commander'
import { UsageError } from '../lib/user-error.ts'
import { requireRepositories } from '../service/data-paths.ts'
import { type Log, openLog } from '../service/log.ts'
import type { Service } from '../service/service.ts'
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
    const service = await start(config, logging)
    print(`Godwit is listening at ${service.address}`)
    if (service.notice) print(service.notice)
    // Without this, bin/godwit's compile cache is written only at exit, and a killed service would start half as fast next time.
    flushCompileCache()
    await stoppedOrOutputFailed(stopped)
    await service.stop()
    await logging.close()
  })
}

/** Imports the service here, so that the help does not load the web framework. */
async function start(config: ServiceConfig, logging: Log): Promise<Service> {
  if (config.repositories !== undefined || config.databaseUrl !== undefined)
    return (await import('../service/service.ts')).startService(config, logging)
  return (await import('./sample.ts')).startSample(config, logging)
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
    const { startWorker } = await import('../service/start-exporter.ts')
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
