import type { Command } from 'commander'
import { UsageError } from '../lib/user-error.ts'
import { openLog } from '../service/log.ts'
import { requireRepositories } from '../service/requirements.ts'
import { addCommand, readServiceConfig } from './command-line.ts'
import { outputFailure, print } from './print.ts'
import { untilStopSignal } from './stop-signal.ts'

export function workCommand(program: Command, about: string): void {
  const command = addCommand(
    program,
    'work',
    about,
    'godwit work --repositories /srv/git --database-url postgres://db/godwit --blobs s3://archives',
  )
  command.action(async (_options, command: Command) => {
    const config = readServiceConfig(command)
    requireRepositories(config)
    if (config.databaseUrl === undefined) {
      throw new UsageError('`work` needs --database-url: it shares the database with API processes')
    }
    const logging = openLog(config)
    const stopped = untilStopSignal()
    const { startWorker } = await import('../service/start-worker.ts')
    await using worker = await startWorker(config, logging)
    print('Godwit is running as a worker')
    const outputError = await Promise.race([outputFailure(), stopped.then(() => undefined)])
    if (!outputError) await stopped
    await worker.disposeAsync()
    await logging.close()
  })
}
