import type { Command } from 'commander'
import { openLog } from '../service/log.ts'
import { requireRepositories } from '../service/parts.ts'
import { addCommand, configOf, Misuse, print, withExamples } from './command-line.ts'
import { untilStopSignal } from './stop-signal.ts'

export function workCommand(program: Command, about: string): void {
  const command = addCommand(program, 'work', about)
  withExamples(
    command,
    'godwit work --repositories /srv/git --database-url postgres://db/godwit --blobs s3://archives',
  )
  command.action(async (_options, command: Command) => {
    const config = configOf(command)
    requireRepositories(config)
    if (config.databaseUrl === undefined) {
      throw new Misuse('a worker shares its database with API processes: give --database-url')
    }
    const logging = openLog(config.logLevel)
    const stopped = untilStopSignal()
    await using stack = new AsyncDisposableStack()
    const { layFoundation } = await import('../service/foundation.ts')
    const { startExporter } = await import('../service/run-exporter.ts')
    const { keepHeartbeat } = await import('../service/heartbeat.ts')
    const foundation = await layFoundation(config, logging, stack)
    stack.defer(await startExporter(config, foundation))
    keepHeartbeat(foundation, { role: 'worker', concurrency: config.concurrency }, stack)
    print('Godwit is working')
    await stopped
    await stack.disposeAsync()
    await logging.close()
  })
}
